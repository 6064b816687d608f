import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { api } from '../../api/api-client'
import type { StoryAnswer, TransferDetail } from '../../api/contract'

/** Others may be at work on it: what is shown is never older than this. */
const renewMs = 10_000

const keys = (trackingId: string) => ({ detail: ['transfer', trackingId], story: ['story', trackingId] }) as const

export function useTransfer(trackingId: string) {
  return useQuery({
    queryKey: keys(trackingId).detail,
    queryFn: ({ signal }) => api.get<TransferDetail>(`/transfers/${encodeURIComponent(trackingId)}`, {}, signal),
    refetchInterval: renewMs,
  })
}

export function useStory(trackingId: string) {
  return useQuery({
    queryKey: keys(trackingId).story,
    queryFn: ({ signal }) => api.get<StoryAnswer>(`/transfers/${encodeURIComponent(trackingId)}/story`, {}, signal),
    refetchInterval: renewMs,
  })
}

/** Takes over what a change answered, and fetches what goes with it. Without an answer nobody knows: all of it is fetched. */
export function useRenewal(trackingId: string) {
  const queries = useQueryClient()
  return useCallback(
    (answer?: TransferDetail) => {
      const { detail, story } = keys(trackingId)
      if (answer) queries.setQueryData(detail, answer)
      else void queries.invalidateQueries({ queryKey: detail })
      for (const queryKey of [story, ['callbacks'], ['transfers']]) void queries.invalidateQueries({ queryKey })
    },
    [queries, trackingId],
  )
}
