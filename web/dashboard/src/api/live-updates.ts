import { useEffect, useEffectEvent } from 'react'
import type { LiveMessage } from '../../../../src/http/dashboard/api'
import { api } from './api-client'
import { followEvents } from './event-stream'
import { setShownLive } from './shown-live'

/** `paused`: the page is hidden. `lost`: the connection failed and is retried. */
export type LiveState = 'connecting' | 'live' | 'paused' | 'lost'

interface Follower {
  onMessage(message: LiveMessage): void
  onState(state: LiveState): void
}

/** Follows the live messages of the server, and pauses while the page is hidden. Returns the function that stops it. */
function followLive(href: string, { onMessage, onState }: Follower): () => void {
  let stop: (() => void) | undefined
  const onEvent = ({ data }: MessageEvent<string>) => onMessage(JSON.parse(data) as LiveMessage)

  function followVisibility() {
    stop?.()
    stop = document.hidden ? undefined : followEvents({ hrefOf: () => href, names: ['message'], onEvent, onState })
    if (document.hidden) onState('paused')
  }

  document.addEventListener('visibilitychange', followVisibility)
  followVisibility()
  return () => {
    document.removeEventListener('visibilitychange', followVisibility)
    stop?.()
  }
}

/**
 * Follows the live messages of a merchant, or of all. `onLive` is called on every connect, because messages may have been missed before it.
 * The header shows the state.
 */
export function useLive(
  merchantId: string | undefined,
  handlers: { onMessage(message: LiveMessage): void; onLive?(): void },
): void {
  const onMessage = useEffectEvent(handlers.onMessage)
  const onLive = useEffectEvent(() => handlers.onLive?.())
  const href = api.href('/live', { merchantId })
  useEffect(() => {
    const stop = followLive(href, {
      onMessage: (message) => {
        setShownLive('live')
        onMessage(message)
      },
      onState: (next) => {
        setShownLive(next)
        if (next === 'live') onLive()
      },
    })
    return () => {
      stop()
      setShownLive(undefined)
    }
  }, [href])
}
