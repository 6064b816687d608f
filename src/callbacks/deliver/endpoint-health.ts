import type { CallbackCommands } from '../../commands/callback/callback-commands.js'
import type { MerchantCommands } from '../../commands/merchant/merchant-commands.js'
import { hourMs, minuteMs, never } from '../../kernel/time.js'

/** An endpoint that only fails for this long is disabled. */
const disableAfterMs = 120 * hourMs

/** Returns the metadata of the events that the service records about an endpoint. */
export function endpointContext(merchantId: string) {
  return { actor: 'system:callbacks', $correlationId: merchantId, $causationId: merchantId }
}

/** Shorter failures are not recorded. */
const recordAfterMs = 10 * minuteMs

/** Tracks how long an endpoint has only failed, across restarts. A crash loses at most the last minutes. */
export class EndpointHealth {
  #failingSinceMs: number | undefined
  /** Whether the log records that the endpoint fails, or `undefined` until that is read. */
  #isRecorded: boolean | undefined
  #loading: Promise<void> | undefined

  constructor(
    private readonly merchants: Pick<MerchantCommands, 'find'>,
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
    await this.commands.noteEndpointRecovered(this.merchantId, endpointContext(this.merchantId))
    this.#isRecorded = false
  }

  /** Returns whether the endpoint must be disabled: it only failed for 120 hours since it was enabled or its URL changed. @throws StoreUnavailableError, TooMuchContentionError */
  async failed(nowMs: number): Promise<boolean> {
    if (this.#isRecorded === undefined) await this.#load()
    // A time in the future is from before the clock was set back.
    this.#failingSinceMs = Math.min(this.#failingSinceMs ?? nowMs, nowMs)
    if (nowMs - this.#failingSinceMs >= recordAfterMs && !this.#isRecorded) {
      const since = new Date(this.#failingSinceMs).toISOString()
      await this.commands.noteEndpointFailing(this.merchantId, since, endpointContext(this.merchantId))
      this.#isRecorded = true
    }
    if (nowMs - this.#failingSinceMs < disableAfterMs) return false
    // The log, because the merchant directory may lag.
    const { endpointChangedAt = never } = (await this.merchants.find(this.merchantId)) ?? {}
    this.#failingSinceMs = Math.max(this.#failingSinceMs, Date.parse(endpointChangedAt))
    return nowMs - this.#failingSinceMs >= disableAfterMs
  }

  /** Reads the log once for all attempts that end in the meantime. */
  #load(): Promise<void> {
    this.#loading ??= this.#read().finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async #read(): Promise<void> {
    const { failingSince: since } = await this.commands.endpointState(this.merchantId)
    this.#isRecorded = since !== null
    if (since === null) return
    this.#failingSinceMs = Math.min(Date.parse(since), this.#failingSinceMs ?? Number.POSITIVE_INFINITY)
  }
}
