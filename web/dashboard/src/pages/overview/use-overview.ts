import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useReducer, useRef, useState } from 'react'
import type { Bucket, OverviewResponse } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useLive } from '../../api/live-updates'
import { useThrottled } from '../../api/use-throttled'
import type { Range } from './overview-range'
import { LiveChanges } from './overview-totals'

/** How often the totals are fetched again while live messages arrive. */
const refetchMs = 10_000

/** Returns the overview of a range, with the live changes since it was fetched. A different range needs a new component instance. */
export function useOverview(range: Range, merchantId: string | undefined) {
  const [changes] = useState(() => new LiveChanges())
  const query = useQuery({
    queryKey: ['overview', range, merchantId],
    queryFn: async ({ signal }) => {
      changes.startFetch()
      const response = await api.get<OverviewResponse>('/overview', { ...range, merchantId }, signal)
      changes.completeFetch()
      return response
    },
    staleTime: 0,
  })
  useLiveChanges(changes, merchantId)
  return { query, bucketsOf: (response: OverviewResponse) => [...response.buckets, ...changesIn(range, changes)] }
}

function changesIn({ from, to }: Range, changes: LiveChanges): Bucket[] {
  return changes.list().filter(({ start }) => start >= from && start < to)
}

/** Renders again in the frame after a live message, and regularly fetches the totals again while messages arrive. */
function useLiveChanges(changes: LiveChanges, merchantId: string | undefined): void {
  const queries = useQueryClient()
  const [, render] = useReducer((count: number) => count + 1, 0)
  const frame = useRef<number | undefined>(undefined)
  const refetch = () => void queries.invalidateQueries({ queryKey: ['overview'] })
  const refetchSoon = useThrottled(refetch, refetchMs)

  useEffect(
    () => () => {
      if (frame.current !== undefined) cancelAnimationFrame(frame.current)
    },
    [],
  )
  useLive(merchantId, {
    onMessage(message) {
      changes.add(message)
      frame.current ??= requestAnimationFrame(() => {
        frame.current = undefined
        render()
      })
      refetchSoon()
    },
    onLive: refetch,
  })
}
