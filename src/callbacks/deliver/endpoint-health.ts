import type { CallbackCommands } from '../../commands/callback/callback-commands.js'
import { merchantStream } from '../../domain/streams.js'
import type { EventStore } from '../../event-store/event-store.js'
import { disableAfterMs } from './schedule.js'

/** Short troubles are not written down. */
const noteAfterMs = 10 * 60_000

/**
 * How long an endpoint has answered nothing but failures, restarts included. What is written down is only ever older than
 * what is remembered, so losing the last minutes at a crash postpones the end by minutes.
 */
export class EndpointHealth {
  #failingSinceMs: number | undefined
  /** Whether the log says that it fails; undefined until that was read. */
  #noted: boolean | undefined

  constructor(
    private readonly store: EventStore,
    private readonly commands: CallbackCommands,
    private readonly merchantId: string,
  ) {}

  get isFailing(): boolean {
    return this.#failingSinceMs !== undefined
  }

  /** A success changes nothing. */
  get isKnownWell(): boolean {
    return this.#noted === false && !this.isFailing
  }

  /** @throws StoreUnavailableError, TooMuchContentionError */
  async succeeded(): Promise<void> {
    if (this.#noted === undefined) await this.#load()
    this.#failingSinceMs = undefined
    if (!this.#noted) return
    await this.commands.noteEndpointRecovered(this.merchantId, this.#context())
    this.#noted = false
  }

  /**
   * True when the endpoint is to be disabled: nothing but failures for 120 hours, not counting the time before it was
   * last enabled. @throws StoreUnavailableError, TooMuchContentionError
   */
  async failed(atMs: number): Promise<boolean> {
    if (this.#noted === undefined) await this.#load()
    this.#failingSinceMs ??= atMs
    if (atMs - this.#failingSinceMs >= noteAfterMs && !this.#noted) {
      const since = new Date(this.#failingSinceMs).toISOString()
      await this.commands.noteEndpointFailing(this.merchantId, since, this.#context())
      this.#noted = true
    }
    if (atMs - this.#failingSinceMs < disableAfterMs) return false
    this.#failingSinceMs = Math.max(this.#failingSinceMs, await this.#enabledAtMs())
    return atMs - this.#failingSinceMs >= disableAfterMs
  }

  async #load(): Promise<void> {
    const since = await this.commands.endpointFailingSince(this.merchantId)
    this.#noted = since !== null
    if (since !== null)
      this.#failingSinceMs = Math.min(Date.parse(since), this.#failingSinceMs ?? Number.POSITIVE_INFINITY)
  }

  async #enabledAtMs(): Promise<number> {
    const events = await this.store.readStream(merchantStream(this.merchantId))
    const enabled = events.findLast((event) => event.type === 'CallbackEndpointEnabled')
    return enabled ? Date.parse(String(enabled.data.at)) : 0
  }

  #context() {
    return { actor: 'system:callbacks', $correlationId: this.merchantId, $causationId: this.merchantId }
  }
}
