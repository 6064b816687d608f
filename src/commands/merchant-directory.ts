import { setTimeout as delay } from 'node:timers/promises'
import { type ApiKey, isApiKeyValid } from '../domain/merchant/api-key.js'
import type { MerchantEvent } from '../domain/merchant/events.js'
import { evolve, initialState, type Merchant, type MerchantState, validValues } from '../domain/merchant/merchant.js'
import { validSecretKeys } from '../domain/merchant/secret-keys.js'
import { decodeEvent } from '../event-store/event-codec.js'
import { comparePositions, type EventStore, type Page, type Position } from '../event-store/event-store.js'
import { findByApiKey, merchantIdOfApiKey } from '../security/credentials.js'
import type { SecretBox } from '../security/secret-box.js'
import { AddressIndex } from './address-index.js'
import type { Clock } from './handle-command.js'
import { merchantStream } from './ids.js'
import { type RotatingSecret, secretOwner } from './merchants.js'

const retryDelayMs = 500
const catchUpPage = 500
const streamPrefix = merchantStream('')

/** All merchants in memory, folded from the log and kept up with it: what authentication and delivery decide by. */
export class MerchantDirectory {
  private readonly merchants = new Map<string, MerchantState>()
  private readonly addresses = new AddressIndex<string>()
  /** Merchants with an event that cannot be read: nobody may call as one whose latest rotation is not known. */
  private readonly unreadable = new Set<string>()
  /** The last answer for each merchant and secret; opening one takes longer than the rest of a request's checks. */
  private readonly opened = new Map<string, { readonly sealed: readonly string[]; readonly clear: readonly string[] }>()
  private readonly stopping = new AbortController()
  private following: Promise<void> | undefined
  private catchingUp: Promise<void> | undefined
  /** Everything up to and including this place is known. */
  private checkpoint: Position | undefined

  constructor(
    private readonly store: EventStore,
    private readonly box: SecretBox,
    private readonly clock: Clock,
    /** Told each time the log goes away, which is followed again when it is back, and when a merchant's event cannot be read. */
    private readonly onError: (error: unknown) => void,
  ) {}

  /**
   * Resolves when everything in the log is known. An event that cannot be read later (one of a newer program) puts its
   * merchant out of service until a restart, and no other. @throws StoreUnavailableError, EventFormatError
   */
  async start(): Promise<void> {
    const pages = this.pages()
    for (;;) {
      const { value: page, done } = await pages.next()
      if (done) return
      this.apply(page, (error) => {
        throw error
      })
      if (page.atEnd) break
    }
    this.following = this.follow(pages)
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

  all(): Merchant[] {
    return [...this.merchants.values()].filter((state) => state.merchantId !== null)
  }

  byId(merchantId: string): Merchant | undefined {
    const state = this.merchants.get(merchantId)
    return state?.merchantId ? state : undefined
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

  private pages(): AsyncIterator<Page> {
    const { signal } = this.stopping
    const options = { streamPrefixes: [streamPrefix], signal, ...this.afterKnown() }
    return this.store.subscribeToAll(options)[Symbol.asyncIterator]()
  }

  private afterKnown(): { readonly after?: Position } {
    return this.checkpoint ? { after: this.checkpoint } : {}
  }

  private async readToEnd(): Promise<void> {
    for (;;) {
      const options = { streamPrefixes: [streamPrefix], maxCount: catchUpPage, ...this.afterKnown() }
      const page = await this.store.readAll(options)
      this.apply(page, this.onError)
      if (page.atEnd) return
    }
  }

  private async follow(pages: AsyncIterator<Page>): Promise<void> {
    let iterator = pages
    let isFollowing = true
    while (!this.stopping.signal.aborted) {
      try {
        const { value: page, done } = await iterator.next()
        if (done) return
        isFollowing = true
        this.apply(page, this.onError)
      } catch (error) {
        // Once for each time the log goes away: it may stay away for hours.
        if (isFollowing) this.onError(error)
        isFollowing = false
        await delay(retryDelayMs, undefined, { signal: this.stopping.signal }).catch(() => {})
        iterator = this.pages()
      }
    }
  }

  /** Two readers bring the same events when a request caught up; each counts once. */
  private apply(page: Page, onUnreadable: (error: unknown) => void): void {
    for (const recorded of page.events) {
      if (this.checkpoint && comparePositions(recorded.position, this.checkpoint) <= 0) continue
      const merchantId = recorded.stream.slice(streamPrefix.length)
      if (this.unreadable.has(merchantId)) continue
      try {
        const before = this.merchants.get(merchantId) ?? initialState
        const after = evolve(before, decodeEvent(recorded) as MerchantEvent)
        this.index(merchantId, before, after)
        this.merchants.set(merchantId, after)
      } catch (error) {
        this.unreadable.add(merchantId)
        this.merchants.delete(merchantId)
        onUnreadable(error)
      }
    }
    const { checkpoint } = page
    if (checkpoint && (!this.checkpoint || comparePositions(checkpoint, this.checkpoint) > 0))
      this.checkpoint = checkpoint
  }

  private index(merchantId: string, before: MerchantState, after: MerchantState): void {
    const previous = before.merchantId === null ? [] : before.settings.allowIps
    const current = after.merchantId === null ? [] : after.settings.allowIps
    if (previous === current) return
    for (const range of previous) this.addresses.remove(range, merchantId)
    for (const range of current) this.addresses.add(range, merchantId)
  }
}
