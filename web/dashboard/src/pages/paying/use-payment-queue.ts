import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useMemo, useState } from 'react'
import { api } from '../../api/api-client'
import type { TransferDetail, TransfersAnswer } from '../../api/contract'
import { asKnown, oneQueue, type Queue, waitingStatuses } from './payment-queue'

const pageSize = 100
const pollMs = 5000
/** Of what this person did, until the lists have it too. */
const maxKnown = 500

async function fetchQueue(merchantId: string | undefined, signal: AbortSignal): Promise<Queue> {
  const search = { kind: 'withdrawal', sort: 'oldest', limit: String(pageSize), merchantId }
  const lists = waitingStatuses.map((status) => api.get<TransfersAnswer>('/transfers', { ...search, status }, signal))
  return oneQueue(await Promise.all(lists))
}

export function useQueue(merchantId: string | undefined) {
  const client = useQueryClient()
  const [known, setKnown] = useState<ReadonlyMap<string, TransferDetail>>(new Map())
  const query = useQuery({
    queryKey: ['paying', merchantId],
    queryFn: ({ signal }) => fetchQueue(merchantId, signal),
    refetchInterval: pollMs,
  })
  const items = useMemo(() => asKnown(query.data?.items ?? [], known), [query.data, known])
  const remember = useCallback(
    (details: readonly TransferDetail[]) => {
      for (const detail of details) client.setQueryData(transferKey(detail.trackingId), detail)
      setKnown((before) => {
        const entries = [...before, ...details.map((detail) => [detail.trackingId, detail] as const)]
        return new Map(entries.slice(-maxKnown))
      })
    },
    [client],
  )
  return { query, items, more: query.data?.more ?? false, known, remember }
}

export function transferKey(trackingId: string): readonly string[] {
  return ['paying-transfer', trackingId]
}

/** From the log, with what may be done to it now: a claim ends without an event. */
export function useWithdrawal(trackingId: string | undefined) {
  return useQuery({
    queryKey: transferKey(trackingId ?? ''),
    queryFn: ({ signal }) => api.get<TransferDetail>(`/transfers/${trackingId}`, undefined, signal),
    enabled: trackingId !== undefined,
    refetchInterval: pollMs,
  })
}
