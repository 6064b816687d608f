import { type InfiniteData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { TransferRow, TransfersResponse } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useLive } from '../../api/live-updates'
import { useThrottled } from '../../api/use-throttled'
import { orderOf, type TransfersSearch } from './list-search'
import { withNewerRows } from './live-rows'

/** The time between counts of newer rows while transfers change. */
const countEveryMs = 3_000
/** One more than the hint shows. */
const countLimit = 51

type Pages = InfiniteData<TransfersResponse, string | undefined>
type Question = TransfersSearch & { readonly kind: string; readonly merchantId: string | undefined }

/** Updates rows in place and counts newer ones. The server counts them, because only it can apply the filters. */
export function useLiveList(key: readonly unknown[], question: Question, items: readonly TransferRow[] | undefined) {
  const queries = useQueryClient()
  const [countedAt, setCountedAt] = useState(0)
  const isNewestFirst = orderOf(question) === 'newest'
  const first = items?.[0]
  const newer = useQuery({
    queryKey: ['newer', question, first?.trackingId, countedAt],
    queryFn: async ({ signal }) => {
      const search = { ...question, sort: 'newest', limit: countLimit, ...(first && { from: first.createdAt }) }
      const answer = await api.get<TransfersResponse>('/transfers', search, signal)
      const known = new Set(items?.map(({ trackingId }) => trackingId))
      return answer.items.filter(({ trackingId }) => !known.has(trackingId)).length
    },
    enabled: isNewestFirst && items !== undefined && countedAt > 0,
    placeholderData: (previous) => previous,
    gcTime: 0,
  })
  const countSoon = useThrottled(() => setCountedAt(Date.now()), countEveryMs)
  useLive(question.merchantId, {
    onMessage({ transfers }) {
      queries.setQueryData<Pages>(key, (data) => {
        const pages = data?.pages.map((page) => ({ ...page, items: withNewerRows(page.items, transfers) }))
        return data && pages && { ...data, pages }
      })
      countSoon()
    },
    onLive: countSoon,
  })
  const showNewer = () => {
    setCountedAt(0)
    void queries.invalidateQueries({ queryKey: key })
  }
  return { newer: isNewestFirst && countedAt > 0 ? (newer.data ?? 0) : 0, showNewer }
}
