import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/api-client'
import type { TransferRow, TransfersAnswer } from '../../api/contract'
import { useLive } from '../../api/live-updates'
import { useSoon } from '../../api/use-throttled'
import { orderOf, type TransfersSearch } from './list-search'
import { type Pages, withChanges } from './live-rows'

/** How often it is asked for newer rows while anything happens. */
const everyMs = 3_000
/** One more than the hint tells. */
const most = 51

type Question = TransfersSearch & { readonly kind: string; readonly merchantId: string | undefined }

/** Rows change where they stand, and new ones are counted: by the server, which alone knows what a filter means. */
export function useLiveList(key: readonly unknown[], question: Question, items: readonly TransferRow[] | undefined) {
  const queries = useQueryClient()
  const [askedAt, setAskedAt] = useState(0)
  const isNewestFirst = orderOf(question) === 'newest'
  const first = items?.[0]
  const newer = useQuery({
    queryKey: ['newer', question, first?.trackingId, askedAt],
    queryFn: async ({ signal }) => {
      const search = { ...question, sort: 'newest', limit: most, ...(first && { from: first.createdAt }) }
      const answer = await api.get<TransfersAnswer>('/transfers', search, signal)
      const known = new Set(items?.map(({ trackingId }) => trackingId))
      return answer.items.filter(({ trackingId }) => !known.has(trackingId)).length
    },
    enabled: isNewestFirst && items !== undefined && askedAt > 0,
    placeholderData: (before) => before,
    gcTime: 0,
  })
  const askSoon = useSoon(() => setAskedAt(Date.now()), everyMs)
  const live = useLive(question.merchantId, {
    onMessage(message) {
      queries.setQueryData<Pages>(key, (pages) => pages && withChanges(pages, message))
      askSoon()
    },
    onLive: askSoon,
  })
  const showNewer = () => {
    setAskedAt(0)
    void queries.invalidateQueries({ queryKey: key })
  }
  return { live, newer: isNewestFirst && askedAt > 0 ? (newer.data ?? 0) : 0, showNewer }
}
