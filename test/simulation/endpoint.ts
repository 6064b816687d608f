import { Pool } from 'undici'
import { scheduler } from './environment.js'
import type { FaultRates } from './faults.js'
import type { Random } from './random.js'
import type { Owner } from './scheduler.js'
import { must } from './violation.js'

interface Received {
  readonly status: number
  readonly amountText: string
  readonly webhookId: string
}

type Handler = {
  onRequestStart?: (controller: { abort(error: Error): void }, context: unknown) => void
  onResponseStart?: (controller: unknown, status: number, headers: object, text: string) => void
  onResponseData?: (controller: unknown, chunk: Buffer) => void
  onResponseEnd?: (controller: unknown, trailers: object) => void
  onResponseError?: (controller: unknown, error: Error) => void
}

/** The endpoints of all merchants, and what arrived there. */
export class Endpoints {
  /** The callbacks by trackingId, in the order of their first arrival. */
  readonly received = new Map<string, Received[]>()
  /** The paths that respond with 410 or do not respond at all. */
  readonly broken = new Map<string, 'gone' | 'hangs'>()

  constructor(
    readonly random: Random,
    private readonly rates: () => FaultRates,
    /** The owner of the requests that have left a node. */
    private readonly late: () => Owner,
    /** Called with all callbacks of a transfer, of which the last one is new. */
    private readonly onNew: (trackingId: string, received: readonly Received[]) => void,
  ) {}

  /** Answers a request like an endpoint of a merchant, which is sometimes refused, slow or wrong, or whose response is lost. */
  dispatch(path: string, headers: { readonly [name: string]: string }, body: string, handler: Handler): void {
    const { random } = this
    let isAborted = false
    const controller = {
      abort(error: Error) {
        if (isAborted) return
        isAborted = true
        handler.onResponseError?.(controller, error)
      },
    }
    handler.onRequestStart?.(controller, {})
    const later = (run: () => void, delayMs = random.below(15)) =>
      void scheduler.add(delayMs, () => {
        if (!isAborted) run()
      })
    const fail = (code: string) => handler.onResponseError?.(controller, Object.assign(new Error(code), { code }))
    const respond = (status: number, responseHeaders = {}) => {
      handler.onResponseStart?.(controller, status, responseHeaders, '')
      handler.onResponseData?.(controller, Buffer.from('ok'))
      handler.onResponseEnd?.(controller, {})
    }
    const fault = random.chance(this.rates().endpoint) ? random.below(7) : -1
    const broken = this.broken.get(path)
    if (fault === 0) {
      later(() => fail('ECONNREFUSED'))
      return
    }
    // The request has left the node, and arrives although the node may crash.
    scheduler.add(
      random.below(15),
      () => {
        if (broken === 'gone' || (fault >= 1 && fault <= 3)) return
        this.#arrive(headers, body)
      },
      this.late(),
    )
    if (broken === 'hangs' || fault === 4) return
    later(() => {
      if (broken === 'gone') respond(410)
      else if (fault === 1) respond(500)
      else if (fault === 2) respond(429, { 'retry-after': '1' })
      else if (fault === 3) respond(503)
      else if (fault === 5) fail('ECONNRESET')
      else respond(random.pick([200, 200, 200, 204]))
    }, 15 + random.below(15))
  }

  #arrive(headers: { readonly [name: string]: string }, body: string): void {
    const { TrackingId: trackingId, Status: status } = JSON.parse(body) as { TrackingId: string; Status: number }
    const amountText = /"TransactionAmount":([\d.]+)/.exec(body)![1]!
    const webhookId = headers['webhook-id']!
    const all = this.received.get(trackingId) ?? []
    this.received.set(trackingId, all)
    const known = all.find((each) => each.webhookId === webhookId)
    if (known) {
      const isSame = known.status === status && known.amountText === amountText
      must('callbacks', isSame, () => `callback ${webhookId} of ${trackingId} arrived with a different content`)
      return
    }
    all.push({ status, amountText, webhookId })
    this.onNew(trackingId, all)
  }
}

let endpoints: Endpoints | undefined

/** Leads every callback of this process to these endpoints. */
export function connectEndpoints(to: Endpoints): void {
  endpoints = to
}

Pool.prototype.dispatch = (options, handler) => {
  endpoints!.dispatch(options.path, options.headers as never, String(options.body), handler as Handler)
  return true
}
