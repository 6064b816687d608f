import { useEffect, useEffectEvent, useState } from 'react'
import { api } from './api-client'
import type { LiveMessage } from './contract'

/** `paused`: nobody sees the page. `lost`: it is being tried again. */
export type LiveState = 'connecting' | 'live' | 'paused' | 'lost'

const firstWaitMs = 1_000
const longestWaitMs = 30_000

interface Follower {
  onMessage(message: LiveMessage): void
  onState(state: LiveState): void
}

/**
 * What happens, as it happens: connects again by itself, and rests while the page is hidden. Whoever comes back after a pause has
 * missed something: `onState` tells when it is live again.
 */
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
    // A browser tries again by itself after some failures and not after others: here it is always the same.
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

/** `onLive`: it is live, after a time in which messages may have been missed. */
export function useLive(
  merchantId: string | undefined,
  handlers: { onMessage(message: LiveMessage): void; onLive?(): void },
): LiveState {
  const [state, setState] = useState<LiveState>('connecting')
  const onMessage = useEffectEvent(handlers.onMessage)
  const onLive = useEffectEvent(() => handlers.onLive?.())
  const href = api.href('/live', { merchantId })
  useEffect(
    () =>
      followLive(href, {
        onMessage: (message) => onMessage(message),
        onState: (next) => {
          setState(next)
          if (next === 'live') onLive()
        },
      }),
    [href],
  )
  return state
}
