import { useSyncExternalStore } from 'react'

/** The time of the last response, from which the shown data dates at the earliest. `isLost` while the service does not respond. */
interface Connection {
  readonly isLost: boolean
  readonly lastResponseAt: number
}

const retryEveryMs = 3_000

let connection: Connection = { isLost: false, lastResponseAt: Date.now() }
let timer: ReturnType<typeof setTimeout> | undefined
let probe: () => Promise<unknown> = async () => undefined
const listeners = new Set<() => void>()

function change(next: Connection): void {
  const hasChanged = next.isLost !== connection.isLost
  connection = next
  if (hasChanged) for (const listener of [...listeners]) listener()
}

/** Sets the request that finds out whether the service responds again. It rejects while it does not. */
export function probeWith(request: () => Promise<unknown>): void {
  probe = request
}

export function noteResponse(): void {
  clearTimeout(timer)
  timer = undefined
  change({ isLost: false, lastResponseAt: Date.now() })
}

/** Keeps trying until the service responds, so that users do not have to reload the page. */
export function noteNoResponse(): void {
  change({ ...connection, isLost: true })
  timer ??= setTimeout(tryNow, retryEveryMs)
}

export function tryNow(): void {
  clearTimeout(timer)
  timer = undefined
  probe().then(noteResponse, noteNoResponse)
}

/** Calls `then` each time that the service responds again. Returns a function that stops it. */
export function onReconnect(then: () => void): () => void {
  const listener = () => connection.isLost || then()
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Resolves when the service responds. */
export function whenConnected(): Promise<void> {
  if (!connection.isLost) return Promise.resolve()
  return new Promise((resolve) => {
    const stop = onReconnect(() => {
      stop()
      resolve()
    })
  })
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export function useConnection(): Connection {
  return useSyncExternalStore(subscribe, () => connection)
}

addEventListener('offline', noteNoResponse)
addEventListener('online', tryNow)
