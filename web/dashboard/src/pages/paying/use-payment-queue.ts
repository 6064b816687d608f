import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useMemo, useState } from 'react'
import { api } from '../../api/api-client'
import type { TransferDetail, TransfersAnswer } from '../../api/contract'
import { transferKeys } from '../transfer/use-transfer'
import { mergeQueue, type Queue, waitingStatuses, withKnown } from './payment-queue'

const pageSize = 100
export const pollMs = 5000
/** The number of the user's own results kept until the lists contain them. */
const maxKnown = 500

async function fetchQueue(merchantId: string | undefined, signal: AbortSignal): Promise<Queue> {
  const search = { kind: 'withdrawal', sort: 'oldest', limit: String(pageSize), merchantId }
  const lists = waitingStatuses.map((status) => api.get<TransfersAnswer>('/transfers', { ...search, status }, signal))
  return mergeQueue(await Promise.all(lists))
}

export function usePaymentQueue(merchantId: string | undefined) {
  const client = useQueryClient()
  const [known, setKnown] = useState<ReadonlyMap<string, TransferDetail>>(new Map())
  const query = useQuery({
    queryKey: ['paying', merchantId],
    queryFn: ({ signal }) => fetchQueue(merchantId, signal),
    refetchInterval: pollMs,
  })
  const items = useMemo(() => withKnown(query.data?.items ?? [], known), [query.data, known])
  const remember = useCallback(
    (details: readonly TransferDetail[]) => {
      for (const detail of details) client.setQueryData(transferKeys.detail(detail.trackingId), detail)
      setKnown((previous) => {
        const entries = [...previous, ...details.map((detail) => [detail.trackingId, detail] as const)]
        return new Map(entries.slice(-maxKnown))
      })
    },
    [client],
  )
  return { query, items, hasMore: query.data?.hasMore ?? false, known, remember }
}
