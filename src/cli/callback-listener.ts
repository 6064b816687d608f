import { setTimeout as delay } from 'node:timers/promises'
import { createParser } from 'eventsource-parser'
import { FairQueue } from '../kernel/fair-queue.js'
import { Refused } from './failures.js'
import { type MerchantApi, reasonOf, requireRequestable } from './merchant-api.js'

/** A callback of the stream `/v1/callbacks/stream`. */
export interface StreamedCallback {
  readonly webhookId: string
  readonly trackingId: string
  readonly referenceId: string
  readonly transferRevision: number
  readonly status: number
  readonly statusDescription: string
  readonly recordedAt: string
  readonly resent: boolean
  readonly request: {
    readonly method: string
    readonly headers: { readonly [name: string]: string }
    readonly body: string
  }
}

interface ListenOptions {
  readonly api: MerchantApi
  readonly signal: AbortSignal
  /** Called whenever the stream is open. From then on no callback is missed. */
  readonly onReady: (merchant: { readonly merchantId: string; readonly name: string }) => void
  readonly onCallback: (callback: StreamedCallback) => void
  /** Called once for each interruption, after which the stream is opened again. */
  readonly onInterrupted: (reason: string) => void
  /** Called if callbacks were missed, because an interruption took too long. */
  readonly onSkipped: () => void
}

/** The service sends something every 15 seconds. */
const silentAfterMs = 45_000
const firstPauseMs = 500
const longestPauseMs = 10_000

/** Follows the callbacks of a merchant until the signal aborts. @throws Refused if the service rejects the request */
export async function listenToCallbacks(options: ListenOptions): Promise<void> {
  const { api, signal, onReady, onInterrupted } = options
  let lastId: string | undefined
  let wasReady = false
  let failures = 0
  while (!signal.aborted) {
    const silence = new AbortController()
    const timer = setTimeout(() => silence.abort(), silentAfterMs)
    const read = AbortSignal.any([signal, silence.signal])
    try {
      const headers = { Accept: 'text/event-stream', ...(lastId !== undefined && { 'Last-Event-ID': lastId }) }
      const { body } = await api.open('/v1/callbacks/stream', headers, read)
      const parser = createParser({
        onEvent({ event, data, id }) {
          lastId = id ?? lastId
          if (event === 'callback') options.onCallback(JSON.parse(data))
          else if (event === 'skipped') options.onSkipped()
          else if (event === 'ready') {
            failures = 0
            wasReady = true
            onReady(JSON.parse(data))
          }
        },
      })
      const decoder = new TextDecoder()
      for await (const chunk of body as AsyncIterable<Uint8Array>) {
        timer.refresh()
        parser.feed(decoder.decode(chunk, { stream: true }))
      }
      if (failures++ === 0) onInterrupted('the service closed the connection')
    } catch (error) {
      if (signal.aborted) return
      // Before the first connection, the address is probably wrong.
      if (error instanceof Refused && (error.code === 'request-rejected' || !wasReady)) throw error
      if (failures++ === 0) onInterrupted(reasonOf(error))
    } finally {
      clearTimeout(timer)
    }
    await delay(Math.min(longestPauseMs, firstPauseMs * 2 ** failures), undefined, { signal }).catch(() => undefined)
  }
}

export interface Forwarded {
  /** Null without a response. */
  readonly status: number | null
  /** The start of the body of the response. */
  readonly body: string
  readonly durationMs: number
  /** Why there was no response; null if there was one. */
  readonly failure: string | null
}

/** The limits of the service's own attempts. */
const forwardTimeoutMs = 15_000
const maxBodyMs = 1_000
const maxExcerptBytes = 1_000
const concurrency = 16
const maxWaiting = 10_000

/**
 * Returns a function that sends callbacks to a program as the service does: the same request, one at a time for each transfer, and at
 * most 16 in all. A failure is not repeated. @throws UsageError for an invalid target
 */
export function createForwarder(target: string): (callback: StreamedCallback) => Promise<Forwarded> {
  requireRequestable(target, 'the URL of the program')
  const limits = { concurrency, concurrencyPerKey: 1, maxWaitingPerKey: maxWaiting, maxWaiting }
  const lanes = new FairQueue(limits, () => new Error(`not forwarded, because ${maxWaiting} callbacks are waiting`))
  return ({ trackingId, request }) =>
    lanes.run(trackingId, async () => {
      const startedMs = performance.now()
      const lasted = () => Math.round(performance.now() - startedMs)
      try {
        const signal = AbortSignal.timeout(forwardTimeoutMs)
        const response = await fetch(target, { ...request, redirect: 'manual', signal })
        return { status: response.status, body: await startOf(response), durationMs: lasted(), failure: null }
      } catch (error) {
        const failure = (error as Error).name === 'TimeoutError' ? 'no response within 15 seconds' : reasonOf(error)
        return { status: null, body: '', durationMs: lasted(), failure }
      }
    })
}

/** Reads the start of a body. The status is known, so a body that is large, or does not end, changes nothing. */
async function startOf({ body }: Response): Promise<string> {
  const reader = body?.getReader()
  if (!reader) return ''
  const timer = setTimeout(() => void reader.cancel().catch(() => undefined), maxBodyMs)
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    while (bytes < maxExcerptBytes) {
      const { done, value } = await reader.read()
      if (done) break
      chunks.push(value)
      bytes += value.length
    }
  } catch {
    // The connection failed after the status.
  } finally {
    clearTimeout(timer)
    void reader.cancel().catch(() => undefined)
  }
  return Buffer.concat(chunks).subarray(0, maxExcerptBytes).toString()
}
