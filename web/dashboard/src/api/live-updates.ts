import { useEffect, useEffectEvent } from 'react'
import { api } from './api-client'
import type { LiveMessage } from './contract'
import { setShownLive } from './shown-live'

/** `paused`: the page is hidden. `lost`: the connection failed and is retried. */
export type LiveState = 'connecting' | 'live' | 'paused' | 'lost'

const firstWaitMs = 1_000
const longestWaitMs = 30_000

interface Follower {
  onMessage(message: LiveMessage): void
  onState(state: LiveState): void
}

/** Follows the live messages of the server: reconnects after a failure, and pauses while the page is hidden. Returns the function that stops it. */
export function followLive(href: string, { onMessage, onState }: Follower): () => void {
  let source: EventSource | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let waitMs = firstWaitMs

  function connect() {
    onState('connecting')
    source = new EventSource(href)
    source.onopen = () => {
      waitMs = firstWaitMs
      onState('live')
    }
    source.onmessage = ({ data }: MessageEvent<string>) => onMessage(JSON.parse(data) as LiveMessage)
    // Browsers reconnect after some failures and not after others, so reconnecting is done here for all of them.
    source.onerror = () => {
      disconnect()
      onState('lost')
      timer = setTimeout(connect, waitMs * (0.5 + Math.random()))
      waitMs = Math.min(waitMs * 2, longestWaitMs)
    }
  }

  function disconnect() {
    clearTimeout(timer)
    source?.close()
    source = undefined
  }

  function followVisibility() {
    disconnect()
    if (document.hidden) onState('paused')
    else connect()
  }

  document.addEventListener('visibilitychange', followVisibility)
  followVisibility()
  return () => {
    document.removeEventListener('visibilitychange', followVisibility)
    disconnect()
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
