const firstWaitMs = 1_000
const longestWaitMs = 30_000

interface EventFollower {
  /** Returns the address. The id of the last event is empty before the first one. */
  readonly hrefOf: (lastEventId: string) => string
  /** The names of the events; `message` for events without one. */
  readonly names: readonly string[]
  onEvent(event: MessageEvent<string>): void
  /** `lost`: the connection failed and is retried. */
  onState(state: 'connecting' | 'live' | 'lost'): void
}

/** Follows server-sent events, and reconnects after every failure. Returns the function that stops it. */
export function followEvents({ hrefOf, names, onEvent, onState }: EventFollower): () => void {
  let source: EventSource | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let waitMs = firstWaitMs
  let lastEventId = ''

  function connect() {
    onState('connecting')
    const opened = new EventSource(hrefOf(lastEventId))
    source = opened
    opened.onopen = () => {
      waitMs = firstWaitMs
      onState('live')
    }
    for (const name of names) {
      opened.addEventListener(name, (event: MessageEvent<string>) => {
        lastEventId = event.lastEventId
        onEvent(event)
      })
    }
    opened.onerror = () => {
      onState('lost')
      // A browser reconnects with the newest id, but not after an error response, such as that of a proxy while the service restarts.
      if (opened.readyState !== EventSource.CLOSED) return
      timer = setTimeout(connect, waitMs * (0.5 + Math.random()))
      waitMs = Math.min(waitMs * 2, longestWaitMs)
    }
  }

  connect()
  return () => {
    clearTimeout(timer)
    source?.close()
  }
}
