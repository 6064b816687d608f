import { type ApiKey, isApiKeyValid } from '../../domain/merchant/api-key.js'
import {
  type Merchant,
  type MerchantState,
  merchantDecider,
  validSecretKeys,
  validValues,
} from '../../domain/merchant/merchant.js'
import type { MerchantEvent, MerchantSettings } from '../../domain/merchant/merchant-events.js'
import { streamPrefix } from '../../domain/streams.js'
import type { UnreadableEventError } from '../../event-store/event-codec.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/time.js'
import { findByApiKey, merchantIdOfApiKey } from '../../security/api-keys.js'
import type { SecretBox } from '../../security/secret-box.js'
import { FoldedStreams } from '../folded-streams.js'
import { AddressIndex } from './addresses.js'
import { type RotatingSecret, secretOwner } from './merchant-commands.js'

/** Returns whether the sandbox is on and no live merchant exists. */
export function isInSandbox(
  { sandbox }: { readonly sandbox: 'auto' | 'off' },
  known: Pick<MerchantDirectory, 'isSandbox'>,
): boolean {
  return sandbox !== 'off' && known.isSandbox()
}

/** Keeps all merchants in memory. One with an unreadable event is out of service, because its latest rotation of a key is unknown. */
export class MerchantDirectory extends FoldedStreams<MerchantState, Merchant, MerchantEvent> {
  readonly #addresses = new AddressIndex<string>()
  /** The decrypted secrets of each merchant: decrypting one takes longer than the other checks of a request. */
  readonly #opened = new Map<string, { readonly sealed: readonly string[]; readonly plaintext: readonly string[] }>()

  constructor(
    store: EventStore,
    private readonly box: SecretBox,
    private readonly clock: Clock,
    onError: (error: unknown) => void,
  ) {
    const isLive = (state: MerchantState) => state.merchantId !== null
    super({ store, prefix: streamPrefix.merchant, decider: merchantDecider, isLive, onError })
  }

  /** Returns why each merchant out of service is so, and whether it is known to be a sandbox merchant. */
  problems(): readonly { readonly problem: UnreadableEventError; readonly isSandbox: boolean }[] {
    return [...this.outOfService].map(([merchantId, problem]) => {
      const state = this.stateOf(merchantId)
      return { problem, isSandbox: Boolean(state?.merchantId && state.settings.sandbox) }
    })
  }

  /** Returns whether no live merchant exists. A merchant out of service may be live, so it counts unless it is known to be a sandbox merchant. */
  isSandbox(): boolean {
    return this.all().every(({ settings }) => settings.sandbox) && this.problems().every(({ isSandbox }) => isSandbox)
  }

  problemOf(merchantId: string): UnreadableEventError | undefined {
    return this.outOfService.get(merchantId)
  }

  /** Returns `undefined` for an unknown merchant. @throws UnreadableEventError if the merchant is out of service */
  settingsOf(merchantId: string): MerchantSettings | undefined {
    const problem = this.outOfService.get(merchantId)
    if (problem) throw problem
    return this.byId(merchantId)?.settings
  }

  /** Returns the merchant that owns the key, suspended or not, if the key is valid. */
  byApiKey(apiKey: string): { readonly merchant: Merchant; readonly key: ApiKey } | undefined {
    const merchant = this.byId(merchantIdOfApiKey(apiKey) ?? '')
    // The digest is calculated for unknown merchants too, so that the time does not reveal which ids exist.
    const key = findByApiKey(apiKey, merchant?.apiKeys ?? [])
    if (!merchant || !key) return undefined
    // Most keys do not expire, so most requests do not need the time.
    return key.validUntil === null || isApiKeyValid(key, this.clock()) ? { merchant, key } : undefined
  }

  byAddress(address: string): Merchant[] {
    return [...this.#addresses.find(address)].flatMap((id) => this.byId(id) ?? [])
  }

  /** Returns why a merchant whose allow-list contains the address is out of service, or `undefined` if none is. */
  problemAt(address: string): UnreadableEventError | undefined {
    return [...this.#addresses.find(address)].flatMap((id) => this.outOfService.get(id) ?? [])[0]
  }

  allowsAddress(merchantId: string, address: string): boolean {
    return this.byId(merchantId) !== undefined && this.#addresses.holds(address, merchantId)
  }

  /** Returns the plaintext of the secrets that are valid now, the current one first. @throws SecretBoxError */
  secrets(merchant: Merchant, secret: RotatingSecret): readonly string[] {
    const now = this.clock()
    if (secret === 'webhookSecret') return this.#open(merchant, secret, validValues(merchant.webhookSecret, now))
    return this.secretKeys(merchant, now).map(({ value }) => value)
  }

  /** Returns the SecretKeys that are valid at a time, the newest first. @throws SecretBoxError */
  secretKeys(merchant: Merchant, at: string): readonly { readonly number: number; readonly value: string }[] {
    const keys = validSecretKeys(merchant.secretKeys, at)
    const sealed = keys.map((key) => key.sealed)
    const values = this.#open(merchant, 'secretKey', sealed)
    return keys.map(({ number }, index) => ({ number, value: values[index]! }))
  }

  #open(merchant: Merchant, secret: RotatingSecret, sealed: readonly string[]): readonly string[] {
    const owner = secretOwner(merchant.merchantId, secret)
    const known = this.#opened.get(owner)
    if (known?.sealed.length === sealed.length && known.sealed.every((text, index) => text === sealed[index])) {
      return known.plaintext
    }
    // Replaces the known secrets, so that a secret that was rotated out does not stay in memory.
    const plaintext = sealed.map((text) => this.box.open(text, owner))
    this.#opened.set(owner, { sealed, plaintext })
    return plaintext
  }

  protected override onFold(merchantId: string, before: MerchantState, after: MerchantState): void {
    const previous = before.merchantId === null ? [] : before.settings.allowIps
    const current = after.merchantId === null ? [] : after.settings.allowIps
    if (previous === current) return
    for (const range of previous) this.#addresses.remove(range, merchantId)
    for (const range of current) this.#addresses.add(range, merchantId)
  }
}
