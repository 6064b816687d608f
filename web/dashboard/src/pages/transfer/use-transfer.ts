import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import type { StoryResponse, TransferDetail } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useLive } from '../../api/live-updates'

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
    queryFn: ({ signal }) => api.get<StoryResponse>(`/transfers/${encodeURIComponent(trackingId)}/story`, {}, signal),
    refetchInterval: refetchMs,
  })
}

/** Fetches an open transfer again as soon as it changes. Callbacks change without a live message, so they are fetched regularly. */
export function useFollowedTransfer({ trackingId, merchantId, revision }: TransferDetail): void {
  const refresh = useRefreshTransfer(trackingId)
  useLive(merchantId, {
    onMessage({ transfers }) {
      if (transfers.some((row) => row.trackingId === trackingId && row.revision > revision)) refresh()
    },
    onLive: () => refresh(),
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
