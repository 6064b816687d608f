import { useEffect, useState } from 'react'
import { api } from '../../api/api-client'
import { followEvents } from '../../api/event-stream'
import { setShownLive } from '../../api/shown-live'
import { type LiveCallbacks, noCallbacks, type StreamEvents, withAttempt, withCallback } from './live-callbacks'

/**
 * Follows the callbacks of a sandbox merchant until the page is left, also while it is hidden: developers watch it next to a terminal. The
 * header shows the state. A different merchant needs a new component instance.
 */
export function useLiveCallbacks(merchantId: string) {
  const [callbacks, setCallbacks] = useState<LiveCallbacks>(noCallbacks)
  /** The shown callbacks while the page is paused. */
  const [paused, setPaused] = useState<LiveCallbacks>()
  const [hasGap, setGap] = useState(false)
  useEffect(() => {
    const take = (name: string, data: string) => {
      setShownLive('live')
      if (name === 'callback') {
        const sent = JSON.parse(data) as StreamEvents['callback']
        setCallbacks((before) => withCallback(before, sent))
      } else if (name === 'attempt') {
        const attempt = JSON.parse(data) as StreamEvents['attempt']
        setCallbacks((before) => withAttempt(before, attempt))
      } else if (name === 'skipped') setGap(true)
    }
    const stop = followEvents({
      hrefOf: (lastEventId) => api.href('/callbacks/stream', { merchantId, lastEventId: lastEventId || undefined }),
      // The id of a heartbeat makes a later reconnect cheap.
      names: ['ready', 'callback', 'attempt', 'skipped', 'heartbeat'],
      onEvent: ({ type, data }) => take(type, data),
      onState: setShownLive,
    })
    return () => {
      stop()
      setShownLive(undefined)
    }
  }, [merchantId])
  return {
    callbacks,
    shown: paused ?? callbacks,
    isPaused: paused !== undefined,
    hasGap,
    pause: () => setPaused(callbacks),
    resume: () => setPaused(undefined),
    clear: () => {
      const cleared = { ...callbacks, rows: [] }
      setCallbacks(cleared)
      setPaused(paused && cleared)
      setGap(false)
    },
  }
}
