import { type ApiKey, isApiKeyValid } from '../../domain/merchant/api-key.js'
import { evolve, initialState, type Merchant, type MerchantState, validValues } from '../../domain/merchant/merchant.js'
import type { MerchantEvent, MerchantSettings } from '../../domain/merchant/merchant-events.js'
import { validSecretKeys } from '../../domain/merchant/secret-keys.js'
import { streamPrefix } from '../../domain/streams.js'
import type { UnreadableEventError } from '../../event-store/event-codec.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/clock.js'
import { findByApiKey, merchantIdOfApiKey } from '../../security/credentials.js'
import type { SecretBox } from '../../security/secret-box.js'
import { FoldedStreams } from '../folded-streams.js'
import { AddressIndex } from './address-index.js'
import { type RotatingSecret, secretOwner } from './merchant-commands.js'

/** All merchants in memory, folded from the log and kept up with it: what authentication and delivery decide by. */
export class MerchantDirectory {
  readonly #merchants: FoldedStreams<MerchantState, MerchantEvent>
  readonly #addresses = new AddressIndex<string>()
  /** The last answer for each merchant and secret; opening one takes longer than the rest of a request's checks. */
  private readonly opened = new Map<string, { readonly sealed: readonly string[]; readonly clear: readonly string[] }>()

  constructor(
    store: EventStore,
    private readonly box: SecretBox,
    private readonly clock: Clock,
    /** Told each time the log becomes unavailable, which is followed again when it is back, and when a merchant's event cannot be read. */
    onError: (error: unknown) => void,
  ) {
    const onFold = (id: string, before: MerchantState, after: MerchantState) => this.#index(id, before, after)
    this.#merchants = new FoldedStreams({ store, prefix: streamPrefix.merchant, initialState, evolve, onError, onFold })
  }

  /**
   * Resolves when everything in the log is known. A merchant with an event that cannot be read is out of service: nobody may call as one
   * whose latest rotation is not known. @throws StoreUnavailableError
   */
  start(): Promise<void> {
    return this.#merchants.start()
  }

  /** See {@link FoldedStreams.catchUp}. @throws StoreUnavailableError */
  catchUp(): Promise<void> {
    return this.#merchants.catchUp()
  }

  stop(): Promise<void> {
    return this.#merchants.stop()
  }

  /** Calls it whenever something may have become known; one listener at a time. */
  whenChanged(listener: () => void): void {
    this.#merchants.whenChanged(listener)
  }

  all(): Merchant[] {
    return [...this.ids()].flatMap((merchantId) => this.byId(merchantId) ?? [])
  }

  /** The merchants out of service, why, and whether they are known to be of the sandbox. */
  problems(): readonly { readonly problem: UnreadableEventError; readonly isSandbox: boolean }[] {
    return [...this.#merchants.problems()].map(([merchantId, problem]) => {
      const state = this.#merchants.stateOf(merchantId)
      return { problem, isSandbox: Boolean(state?.merchantId && state.settings.sandbox) }
    })
  }

  /** Why a merchant is out of service. */
  problemOf(merchantId: string): UnreadableEventError | undefined {
    return this.#merchants.problems().get(merchantId)
  }

  /** Undefined when there is no such merchant. @throws UnreadableEventError when it is out of service */
  settingsOf(merchantId: string): MerchantSettings | undefined {
    const problem = this.#merchants.problems().get(merchantId)
    if (problem) throw problem
    return this.byId(merchantId)?.settings
  }

  byId(merchantId: string): Merchant | undefined {
    const state = this.#merchants.stateOf(merchantId)
    return state?.merchantId && !this.#merchants.problems().has(merchantId) ? state : undefined
  }

  ids(): Iterable<string> {
    return this.#merchants.ids()
  }

  /** The merchant whose key this is, suspended or not, and the key as it was created. */
  byApiKey(apiKey: string): { readonly merchant: Merchant; readonly key: ApiKey } | undefined {
    const merchant = this.byId(merchantIdOfApiKey(apiKey) ?? '')
    // The digest is made for unknown merchants too, so that the time does not tell which ids exist.
    const key = findByApiKey(apiKey, merchant?.apiKeys ?? [])
    if (!merchant || !key) return undefined
    // Most keys do not expire, and no request with one need ask for the time.
    return key.validUntil === null || isApiKeyValid(key, this.clock()) ? { merchant, key } : undefined
  }

  /** The merchants whose allow-lists hold the address. */
  byAddress(address: string): Merchant[] {
    return [...this.#addresses.find(address)].flatMap((id) => this.byId(id) ?? [])
  }

  /** Why a merchant that may have called from the address is out of service; undefined when none is. */
  problemAt(address: string): UnreadableEventError | undefined {
    return [...this.#addresses.find(address)].flatMap((id) => this.#merchants.problems().get(id) ?? [])[0]
  }

  allowsAddress(merchantId: string, address: string): boolean {
    return this.byId(merchantId) !== undefined && this.#addresses.holds(address, merchantId)
  }

  /** The secrets valid now, the current one first, in clear. @throws SecretBoxError */
  secrets(merchant: Merchant, secret: RotatingSecret): readonly string[] {
    const now = this.clock()
    if (secret === 'webhookSecret') return this.#open(merchant, secret, validValues(merchant.webhookSecret, now))
    return this.secretKeys(merchant, now).map(({ value }) => value)
  }

  /** The SecretKeys valid then, the newest first. @throws SecretBoxError */
  secretKeys(merchant: Merchant, at: string): readonly { readonly number: number; readonly value: string }[] {
    const keys = validSecretKeys(merchant.secretKeys, at)
    const values = this.#open(
      merchant,
      'secretKey',
      keys.map(({ sealed }) => sealed),
    )
    return keys.map(({ number }, index) => ({ number, value: values[index]! }))
  }

  #open(merchant: Merchant, secret: RotatingSecret, sealed: readonly string[]): readonly string[] {
    const owner = secretOwner(merchant.merchantId, secret)
    const before = this.opened.get(owner)
    if (before?.sealed.length === sealed.length && before.sealed.every((text, index) => text === sealed[index])) {
      return before.clear
    }
    // In place of the last answer: a secret that was rotated out does not stay in memory.
    const clear = sealed.map((text) => this.box.open(text, owner))
    this.opened.set(owner, { sealed, clear })
    return clear
  }

  #index(merchantId: string, before: MerchantState, after: MerchantState): void {
    const previous = before.merchantId === null ? [] : before.settings.allowIps
    const current = after.merchantId === null ? [] : after.settings.allowIps
    if (previous === current) return
    for (const range of previous) this.#addresses.remove(range, merchantId)
    for (const range of current) this.#addresses.add(range, merchantId)
  }
}
