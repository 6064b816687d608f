import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useReducer, useRef, useState } from 'react'
import { api } from '../../api/api-client'
import type { Bucket, OverviewAnswer } from '../../api/contract'
import { type LiveState, useLive } from '../../api/live-updates'
import { useSoon } from '../../api/use-throttled'
import type { Range } from './overview-range'
import { LiveChanges } from './overview-totals'

/** How often an answer takes the place of what was told live. */
const renewMs = 10_000

/** The answer for a range, and what has happened in it since. Another range needs another component: see its `key`. */
export function useOverview(range: Range, merchantId: string | undefined) {
  const [changes] = useState(() => new LiveChanges())
  const query = useQuery({
    queryKey: ['overview', range, merchantId],
    queryFn: async ({ signal }) => {
      changes.asking()
      const answer = await api.get<OverviewAnswer>('/overview', { ...range, merchantId }, signal)
      changes.answered()
      return answer
    },
    staleTime: 0,
  })
  const live = useFollowed(changes, merchantId)
  return { query, live, bucketsOf: (answer: OverviewAnswer) => [...answer.buckets, ...told(changes, range)] }
}

function told(changes: LiveChanges, { from, to }: Range): Bucket[] {
  return changes.list().filter(({ start }) => start >= from && start < to)
}

/** Draws again with the frame after something was told, and asks again from time to time while anything is. */
function useFollowed(changes: LiveChanges, merchantId: string | undefined): LiveState {
  const queries = useQueryClient()
  const [, draw] = useReducer((drawn: number) => drawn + 1, 0)
  const frame = useRef<number | undefined>(undefined)
  const renew = () => void queries.invalidateQueries({ queryKey: ['overview'] })
  const renewSoon = useSoon(renew, renewMs)

  useEffect(
    () => () => {
      if (frame.current !== undefined) cancelAnimationFrame(frame.current)
    },
    [],
  )
  return useLive(merchantId, {
    onMessage(message) {
      changes.add(message)
      frame.current ??= requestAnimationFrame(() => {
        frame.current = undefined
        draw()
      })
      renewSoon()
    },
    onLive: renew,
  })
}
