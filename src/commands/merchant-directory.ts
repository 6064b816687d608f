import { type ApiKey, isApiKeyValid } from '../domain/merchant/api-key.js'
import { evolve, initialState, type Merchant, type MerchantState, validValues } from '../domain/merchant/merchant.js'
import { validSecretKeys } from '../domain/merchant/secret-keys.js'
import type { MerchantSettings } from '../domain/merchant/settings.js'
import { merchantStream, passedOverStream, streamPrefix } from '../domain/streams.js'
import { UnreadableEventError } from '../event-store/event-codec.js'
import {
  comparePositions,
  type EventStore,
  type Page,
  type Position,
  type RecordedEvent,
} from '../event-store/event-store.js'
import { decisionOf } from '../event-store/passing-over.js'
import { foldEvent } from '../event-store/read-event.js'
import { findByApiKey, merchantIdOfApiKey } from '../security/credentials.js'
import type { SecretBox } from '../security/secret-box.js'
import { follow } from '../subscriptions/follow.js'
import { AddressIndex } from './address-index.js'
import type { Clock } from './handle-command.js'
import { type RotatingSecret, secretOwner } from './merchants.js'

const pageSize = 500
const merchantPrefix = streamPrefix.merchant
/** With what is decided about events that cannot be read, so that a merchant is back in service at once. */
const streamPrefixes = [merchantPrefix, passedOverStream]

/** All merchants in memory, folded from the log and kept up with it: what authentication and delivery decide by. */
export class MerchantDirectory {
  private readonly merchants = new Map<string, MerchantState>()
  private readonly addresses = new AddressIndex<string>()
  /** Merchants with an event that cannot be read, folded up to it: nobody may call as one whose latest rotation is not known. */
  private readonly outOfService = new Map<string, UnreadableEventError>()
  /** Of them, those with an event that was passed over since: to be folded again from the start. */
  private readonly freed = new Set<string>()
  /** Of them, those of which later events came by. */
  private readonly skipped = new Set<string>()
  /** Up to which revision a merchant was folded again. */
  private readonly foldedTo = new Map<string, number>()
  /** The last answer for each merchant and secret; opening one takes longer than the rest of a request's checks. */
  private readonly opened = new Map<string, { readonly sealed: readonly string[]; readonly clear: readonly string[] }>()
  private onChange: () => void = () => undefined
  private readonly stopping = new AbortController()
  private following: Promise<void> | undefined
  private catchingUp: Promise<void> | undefined
  /** Everything up to and including this place is known. */
  private checkpoint: Position | undefined

  constructor(
    private readonly store: EventStore,
    private readonly box: SecretBox,
    private readonly clock: Clock,
    /** Told each time the log becomes unavailable, which is followed again when it is back, and when a merchant's event cannot be read. */
    private readonly onError: (error: unknown) => void,
  ) {}

  /**
   * Resolves when everything in the log is known. An event that cannot be read (a foreign one, or one of a newer program) puts its
   * merchant out of service until it is passed over, and no other. @throws StoreUnavailableError
   */
  async start(): Promise<void> {
    await this.readToEnd()
    this.following = follow({
      store: this.store,
      after: this.checkpoint,
      streamPrefixes,
      signal: this.stopping.signal,
      isRetried: () => true,
      // Once each time the log becomes unavailable: it may stay so for hours.
      onUnavailable: (error, failures) => {
        if (failures === 1) this.onError(error)
      },
      handle: async (page) => {
        await this.apply(page)
        this.onChange()
      },
    })
  }

  /**
   * Resolves when what was in the log at the call is known: another process or node may have recorded it a moment ago.
   * Calls share one reading. @throws StoreUnavailableError
   */
  async catchUp(): Promise<void> {
    // What is under way may have read past the place where the caller's event came to stand since.
    if (this.catchingUp) await this.catchingUp
    this.catchingUp ??= this.readToEnd().finally(() => {
      this.catchingUp = undefined
    })
    await this.catchingUp
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    await this.following
  }

  /** Calls it whenever something may have become known; one listener at a time. */
  whenChanged(listener: () => void): void {
    this.onChange = listener
  }

  all(): Merchant[] {
    return [...this.merchants.keys()].flatMap((merchantId) => this.byId(merchantId) ?? [])
  }

  /** The merchants out of service, why, and whether they are known to be of the sandbox. */
  problems(): readonly { readonly problem: UnreadableEventError; readonly isSandbox: boolean }[] {
    return [...this.outOfService].map(([merchantId, problem]) => {
      const state = this.merchants.get(merchantId)
      return { problem, isSandbox: Boolean(state?.merchantId && state.settings.sandbox) }
    })
  }

  /** Why a merchant is out of service. */
  problemOf(merchantId: string): UnreadableEventError | undefined {
    return this.outOfService.get(merchantId)
  }

  /** Undefined when there is no such merchant. @throws UnreadableEventError when it is out of service */
  settingsOf(merchantId: string): MerchantSettings | undefined {
    const problem = this.outOfService.get(merchantId)
    if (problem) throw problem
    return this.byId(merchantId)?.settings
  }

  byId(merchantId: string): Merchant | undefined {
    const state = this.merchants.get(merchantId)
    return state?.merchantId && !this.outOfService.has(merchantId) ? state : undefined
  }

  ids(): Iterable<string> {
    return this.merchants.keys()
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
    return [...this.addresses.find(address)].flatMap((id) => this.byId(id) ?? [])
  }

  /** Why a merchant that may have called from the address is out of service; undefined when none is. */
  problemAt(address: string): UnreadableEventError | undefined {
    return [...this.addresses.find(address)].flatMap((id) => this.outOfService.get(id) ?? [])[0]
  }

  allowsAddress(merchantId: string, address: string): boolean {
    return this.byId(merchantId) !== undefined && this.addresses.holds(address, merchantId)
  }

  /** The secrets valid now, the current one first, in clear. @throws SecretBoxError */
  secrets(merchant: Merchant, secret: RotatingSecret): readonly string[] {
    const now = this.clock()
    if (secret === 'webhookSecret') return this.open(merchant, secret, validValues(merchant.webhookSecret, now))
    return this.secretKeys(merchant, now).map(({ value }) => value)
  }

  /** The SecretKeys valid then, the newest first. @throws SecretBoxError */
  secretKeys(merchant: Merchant, at: string): readonly { readonly number: number; readonly value: string }[] {
    const keys = validSecretKeys(merchant.secretKeys, at)
    const values = this.open(
      merchant,
      'secretKey',
      keys.map(({ sealed }) => sealed),
    )
    return keys.map(({ number }, index) => ({ number, value: values[index]! }))
  }

  private open(merchant: Merchant, secret: RotatingSecret, sealed: readonly string[]): readonly string[] {
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

  private async readToEnd(): Promise<void> {
    for (;;) {
      const after = this.checkpoint && { after: this.checkpoint }
      const page = await this.store.readAll({ streamPrefixes, maxCount: pageSize, ...after })
      await this.apply(page)
      if (page.atEnd) return
    }
  }

  /** Two readers bring the same events when a request caught up; each counts once. */
  private async apply(page: Page): Promise<void> {
    for (const recorded of page.events) {
      if (this.checkpoint && comparePositions(recorded.position, this.checkpoint) <= 0) continue
      if (recorded.stream === passedOverStream) this.noteDecision(recorded)
      else this.take(recorded)
    }
    const { checkpoint } = page
    if (checkpoint && (!this.checkpoint || comparePositions(checkpoint, this.checkpoint) > 0))
      this.checkpoint = checkpoint
    for (const merchantId of this.freed) await this.foldAgain(merchantId)
  }

  private noteDecision(recorded: RecordedEvent): void {
    const { stream = '' } = decisionOf(recorded) ?? {}
    const merchantId = stream.slice(merchantPrefix.length)
    if (stream.startsWith(merchantPrefix) && this.outOfService.has(merchantId)) this.freed.add(merchantId)
  }

  private take(recorded: RecordedEvent): void {
    const merchantId = recorded.stream.slice(merchantPrefix.length)
    if (this.outOfService.has(merchantId)) this.skipped.add(merchantId)
    else if (recorded.revision > (this.foldedTo.get(merchantId) ?? -1))
      this.fold(merchantId, this.merchants.get(merchantId) ?? initialState, [recorded])
  }

  private async foldAgain(merchantId: string): Promise<void> {
    let events: readonly RecordedEvent[]
    do {
      this.skipped.delete(merchantId)
      events = await this.store.readStream(merchantStream(merchantId))
      // What the other reader brought meanwhile may not have been there yet.
    } while (this.skipped.has(merchantId))
    this.freed.delete(merchantId)
    this.outOfService.delete(merchantId)
    this.foldedTo.set(merchantId, events.at(-1)?.revision ?? -1)
    this.fold(merchantId, initialState, events)
  }

  private fold(merchantId: string, from: MerchantState, events: readonly RecordedEvent[]): void {
    let after = from
    try {
      for (const recorded of events) after = foldEvent(evolve, after, recorded)
    } catch (error) {
      if (!(error instanceof UnreadableEventError)) throw error
      this.outOfService.set(merchantId, error)
      this.onError(error)
    }
    this.index(merchantId, this.merchants.get(merchantId) ?? initialState, after)
    this.merchants.set(merchantId, after)
  }

  private index(merchantId: string, before: MerchantState, after: MerchantState): void {
    const previous = before.merchantId === null ? [] : before.settings.allowIps
    const current = after.merchantId === null ? [] : after.settings.allowIps
    if (previous === current) return
    for (const range of previous) this.addresses.remove(range, merchantId)
    for (const range of current) this.addresses.add(range, merchantId)
  }
}
