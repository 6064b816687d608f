import type { CallbackCommands } from '../../commands/callback/callback-commands.js'
import { merchantStream } from '../../domain/streams.js'
import type { EventStore } from '../../event-store/event-store.js'
import { minuteMs } from '../../kernel/time.js'
import { disableAfterMs } from './callback-schedule.js'

/** Shorter failures are not recorded. */
const recordAfterMs = 10 * minuteMs

/**
 * Tracks how long an endpoint has only failed, across restarts. A crash loses at most the last minutes, which delays the end of the
 * endpoint by minutes.
 */
export class EndpointHealth {
  #failingSinceMs: number | undefined
  /** Whether the log records that the endpoint fails, or `undefined` until that is read. */
  #isRecorded: boolean | undefined

  constructor(
    private readonly store: EventStore,
    private readonly commands: CallbackCommands,
    private readonly merchantId: string,
  ) {}

  get isFailing(): boolean {
    return this.#failingSinceMs !== undefined
  }

  /** Whether a success changes nothing. */
  get isKnownHealthy(): boolean {
    return this.#isRecorded === false && !this.isFailing
  }

  /** @throws StoreUnavailableError, TooMuchContentionError */
  async succeeded(): Promise<void> {
    if (this.#isRecorded === undefined) await this.#load()
    this.#failingSinceMs = undefined
    if (!this.#isRecorded) return
    await this.commands.noteEndpointRecovered(this.merchantId, this.#context())
    this.#isRecorded = false
  }

  /**
   * Returns true if the endpoint must be disabled: it only failed for 120 hours, not counting the time before it was last enabled.
   * @throws StoreUnavailableError, TooMuchContentionError
   */
  async failed(nowMs: number): Promise<boolean> {
    if (this.#isRecorded === undefined) await this.#load()
    this.#failingSinceMs ??= nowMs
    if (nowMs - this.#failingSinceMs >= recordAfterMs && !this.#isRecorded) {
      const since = new Date(this.#failingSinceMs).toISOString()
      await this.commands.noteEndpointFailing(this.merchantId, since, this.#context())
      this.#isRecorded = true
    }
    if (nowMs - this.#failingSinceMs < disableAfterMs) return false
    this.#failingSinceMs = Math.max(this.#failingSinceMs, await this.#enabledAtMs())
    return nowMs - this.#failingSinceMs >= disableAfterMs
  }

  async #load(): Promise<void> {
    const since = await this.commands.endpointFailingSince(this.merchantId)
    this.#isRecorded = since !== null
    if (since === null) return
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
