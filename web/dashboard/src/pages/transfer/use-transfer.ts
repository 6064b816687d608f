import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { api } from '../../api/api-client'
import type { StoryAnswer, TransferDetail } from '../../api/contract'

/** Other users may change the transfer, so it is fetched again this often. */
const refetchMs = 10_000

export const transferKeys = {
  detail: (trackingId: string) => ['transfer', trackingId],
  history: (trackingId: string) => ['transfer-history', trackingId],
} as const

export function useTransfer(trackingId: string, refetchInterval = refetchMs) {
  return useQuery({
    queryKey: transferKeys.detail(trackingId),
    queryFn: ({ signal }) => api.get<TransferDetail>(`/transfers/${encodeURIComponent(trackingId)}`, {}, signal),
    refetchInterval,
  })
}

export function useTransferHistory(trackingId: string) {
  return useQuery({
    queryKey: transferKeys.history(trackingId),
    queryFn: ({ signal }) => api.get<StoryAnswer>(`/transfers/${encodeURIComponent(trackingId)}/story`, {}, signal),
    refetchInterval: refetchMs,
  })
}

/** Returns a function that stores the result of a change, or fetches the transfer again if the result is unknown, and refreshes related data. */
export function useRefreshTransfer(trackingId: string) {
  const queries = useQueryClient()
  return useCallback(
    (detail?: TransferDetail) => {
      const detailKey = transferKeys.detail(trackingId)
      if (detail) queries.setQueryData(detailKey, detail)
      else void queries.invalidateQueries({ queryKey: detailKey })
      for (const queryKey of [transferKeys.history(trackingId), ['callbacks'], ['transfers']]) {
        void queries.invalidateQueries({ queryKey })
      }
    },
    [queries, trackingId],
  )
}
