import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { signCallback } from '../callbacks/deliver/callback-signing.js'
import { callbackBody } from '../domain/callback.js'
import type { Merchant } from '../domain/merchant/merchant.js'
import { statusNameOf } from '../domain/transfer/status.js'
import { endOfLog, formatPosition, type Position, parsePosition } from '../event-store/event-store.js'
import { FairQueue } from '../kernel/fair-queue.js'
import { CallbackListener, type ListenedCallback } from '../queries/callback-listener.js'
import { TooManyReadsError } from '../readers/readers.js'
import { invalid, RequestError } from './refusals.js'
import { endDeadline } from './server/request-deadline.js'
import type { HttpServices } from './services.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** Responds with the callbacks of a sandbox merchant as server-sent events (docs/merchants/api.md). @throws RequestError */
    readonly streamCallbacks: (
      request: FastifyRequest,
      reply: FastifyReply,
      audience: CallbackAudience,
    ) => Promise<FastifyReply>
  }
}

interface CallbackAudience {
  readonly merchantId: string
  /** Whether the reader can see the hash and the signature, with which a guess of a secret can be confirmed. */
  readonly seesSignatures: boolean
  /** Returns whether the reader is still allowed to listen. Called for each message. */
  readonly mayListen: () => boolean | Promise<boolean>
  /** The id of the last event that the reader got, if it cannot send the header. */
  readonly lastEventId?: string | undefined
}

/** The limits of open streams per merchant and in all. */
const maxStreams = { concurrencyPerKey: 5, concurrency: 50, maxWaitingPerKey: 0, maxWaiting: 0 }
const retryAfterSeconds = 5
/** Proxies close connections that stay silent for longer. */
const heartbeatMs = 15_000
/** After this many heartbeats, a reader that does not read is disconnected. It can resume. */
const maxStuckHeartbeats = 4
const reconnectMs = 3_000
const positionHeader = 'last-event-id'

export const callbackStreams = fp(async (app) => {
  const { directory, eventStore } = app.services
  const { concurrencyPerKey } = maxStreams
  const places = new FairQueue(maxStreams, (limit) => {
    return new TooManyReadsError(retryAfterSeconds, limit === 'key' ? concurrencyPerKey : undefined)
  })
  const open = new Set<CallbackStream>()
  let isClosing = false
  app.addHook('preClose', (done) => {
    isClosing = true
    for (const stream of open) stream.end()
    done()
  })
  app.addHook('onClose', async () => {
    await Promise.all([...open].map(({ ended }) => ended))
  })
  app.decorate('streamCallbacks', async (request, reply, audience) => {
    const { merchantId } = audience
    if (!directory.byId(merchantId)?.settings.sandbox) throw new RequestError('sandbox-only')
    const after = positionOf(request, audience)
    const leave = await places.enter(merchantId)
    try {
      const end = await endOfLog(eventStore)
      if (isClosing) throw new RequestError('unavailable', { retryAfterSeconds })
      const stream = new CallbackStream(app.services, audience, { after, end })
      open.add(stream)
      stream.ended.finally(() => {
        open.delete(stream)
        leave()
      })
      endDeadline(request)
      return reply.type('text/event-stream').header('x-accel-buffering', 'no').send(stream.events)
    } catch (error) {
      leave()
      throw error
    }
  })
})

/** @throws RequestError that names the header */
function positionOf({ headers }: FastifyRequest, { lastEventId }: CallbackAudience): Position | undefined {
  const sent = headers[positionHeader] ?? lastEventId
  if (sent === undefined) return undefined
  const position = parsePosition(String(sent))
  if (!position) throw invalid('Last-Event-ID', 'cursor-invalid')
  return position
}

/** The response to one reader. */
class CallbackStream {
  readonly events = new PassThrough()
  /** Resolves when nothing is read for the stream any longer. Never rejects. */
  readonly ended: Promise<void>
  readonly #ending = new AbortController()
  readonly #listener: CallbackListener

  constructor(
    private readonly services: HttpServices,
    private readonly audience: CallbackAudience,
    from: { readonly after: Position | undefined; readonly end: Position | undefined },
  ) {
    const { eventStore: store, callbacks, clock, logger } = services
    const { signal } = this.#ending
    const { merchantId } = audience
    const onUnavailable = (err: Error, failures: number) => {
      if (failures === 1) logger.warn({ err, merchantId }, 'a stream of callbacks waits for the log')
    }
    const send = (heard: ListenedCallback, settle: () => void) => this.#send(heard, settle)
    this.#listener = new CallbackListener({ ...from, store, callbacks, clock, merchantId, signal, onUnavailable, send })
    this.events.once('close', () => this.#ending.abort())
    this.events.once('error', () => undefined)
    const timer = setInterval(this.#heartbeat(), heartbeatMs)
    this.ended = this.#run().finally(() => {
      clearInterval(timer)
      this.end()
    })
  }

  /** Ends the response. A reader that does not read is disconnected, because it would hold the end. */
  end(): void {
    this.#ending.abort()
    if (this.events.writableNeedDrain) this.events.destroy()
    else this.events.end()
  }

  async #run(): Promise<void> {
    const { merchantId } = this.audience
    const name = this.services.directory.byId(merchantId)?.settings.name
    this.events.write(`retry: ${reconnectMs}\n\n`)
    try {
      this.#write('ready', { merchantId, name })
      await this.#listener.run()
    } catch (err) {
      this.services.logger.error({ err, merchantId }, 'a stream of callbacks ended')
    }
  }

  /**
   * Returns the function for each interval. It sends an event with the position, so that a resume after a quiet time is cheap. Readers would
   * ignore the id of a comment.
   */
  #heartbeat(): () => Promise<void> {
    let stuck = 0
    return async () => {
      stuck = this.events.writableNeedDrain ? stuck + 1 : 0
      if (!(await this.#merchant()) || stuck >= maxStuckHeartbeats) this.end()
      else if (stuck === 0 && this.events.writable) this.#write('heartbeat', {})
    }
  }

  async #send(heard: ListenedCallback, settle: () => void): Promise<void> {
    const merchant = await this.#merchant()
    if (!merchant) return this.end()
    const [name, data] = await this.#frameOf(heard, merchant)
    if (!this.events.writable) return
    settle()
    if (!this.#write(name, data)) await this.#drained()
  }

  #write(name: string, data: object): boolean {
    return this.events.write(`event: ${name}\n${this.#id()}data: ${JSON.stringify(data)}\n\n`)
  }

  #id(): string {
    const position = this.#listener.resumesFrom
    return position ? `id: ${formatPosition(position)}\n` : ''
  }

  async #drained(): Promise<void> {
    const { signal } = this.#ending
    await once(this.events, 'drain', { signal }).catch((error) => {
      if (!signal.aborted) throw error
    })
  }

  /** Returns the merchant if it is a sandbox merchant and the reader is still allowed to listen. */
  async #merchant(): Promise<Merchant | undefined> {
    const merchant = this.services.directory.byId(this.audience.merchantId)
    return merchant?.settings.sandbox && (await this.audience.mayListen()) ? merchant : undefined
  }

  async #frameOf(heard: ListenedCallback, merchant: Merchant): Promise<readonly [name: string, data: object]> {
    if (heard.kind === 'skipped') return ['skipped', {}]
    if (heard.kind === 'attempt') return ['attempt', heard.data]
    const { trackingId, delivery, recordedAt, isResent: resent } = heard
    const { webhookId, transferRevision, payload } = delivery
    const { status, referenceId } = payload
    const { directory, clock } = this.services
    const signed = await signCallback(directory, merchant, trackingId, delivery, Date.parse(clock()))
    const { headers, body } = this.audience.seesSignatures
      ? signed
      : {
          headers: { ...signed.headers, 'webhook-signature': '…' },
          body: callbackBody(payload, trackingId, () => '…'),
        }
    const about = {
      webhookId,
      trackingId,
      referenceId,
      transferRevision,
      status,
      statusDescription: statusNameOf(status),
    }
    return ['callback', { ...about, recordedAt, resent, request: { method: 'POST', headers, body } }]
  }
}
