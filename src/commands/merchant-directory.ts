import type { MerchantEvent } from '../domain/merchant/events.js'
import { evolve, initialState, type Merchant, type MerchantState, validValues } from '../domain/merchant/merchant.js'
import { decodeEvent } from '../event-store/event-codec.js'
import type { EventStore, Page, Position } from '../event-store/event-store.js'
import { matchesDigest, merchantIdOfApiKey } from '../security/credentials.js'
import type { SecretBox } from '../security/secret-box.js'
import { AddressIndex } from './address-index.js'
import type { Clock } from './handle-command.js'
import { type RotatingSecret, secretOwner } from './merchants.js'

const retryDelayMs = 500

/** All merchants in memory, folded from the log and kept up with it: what authentication and delivery decide by. */
export class MerchantDirectory {
  private readonly merchants = new Map<string, MerchantState>()
  private readonly addresses = new AddressIndex<string>()
  /** Opened secrets by sealed text; opening one takes longer than the rest of a request's checks. */
  private readonly opened = new Map<string, string>()
  private readonly stopping = new AbortController()
  private following: Promise<void> | undefined

  constructor(
    private readonly store: EventStore,
    private readonly box: SecretBox,
    private readonly clock: Clock,
    /** Told when following the log fails; it is tried again. */
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Resolves when everything in the log is known. @throws StoreUnavailableError, EventFormatError */
  async start(): Promise<void> {
    const pages = this.pages(undefined)
    let checkpoint: Position | undefined
    for (;;) {
      const { value: page, done } = await pages.next()
      if (done) return
      this.apply(page)
      checkpoint = page.checkpoint ?? checkpoint
      if (page.atEnd) break
    }
    this.following = this.follow(pages, checkpoint)
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

  /** The merchant whose key this is, suspended or not. */
  byApiKey(apiKey: string): Merchant | undefined {
    const merchant = this.byId(merchantIdOfApiKey(apiKey) ?? '')
    return merchant && matchesDigest(apiKey, validValues(merchant.apiKeySha256, this.clock())) ? merchant : undefined
  }

  /** The merchants whose allow-lists hold the address. */
  byAddress(address: string): Merchant[] {
    return [...this.addresses.find(address)].flatMap((id) => this.byId(id) ?? [])
  }

  allowsAddress(merchantId: string, address: string): boolean {
    return this.addresses.find(address).has(merchantId)
  }

  /** The secrets valid now, the current one first, in clear. @throws SecretBoxError */
  secrets(merchant: Merchant, secret: RotatingSecret): string[] {
    return validValues(merchant[secret], this.clock()).map((sealed) => {
      let clear = this.opened.get(sealed)
      if (clear === undefined) {
        clear = this.box.open(sealed, secretOwner(merchant.merchantId, secret))
        this.opened.set(sealed, clear)
      }
      return clear
    })
  }

  private pages(after: Position | undefined): AsyncIterator<Page> {
    const { signal } = this.stopping
    const options = { streamPrefixes: ['merchant-'], signal, ...(after && { after }) }
    return this.store.subscribeToAll(options)[Symbol.asyncIterator]()
  }

  private async follow(pages: AsyncIterator<Page>, checkpoint: Position | undefined): Promise<void> {
    let after = checkpoint
    let iterator = pages
    while (!this.stopping.signal.aborted) {
      try {
        const { value: page, done } = await iterator.next()
        if (done) return
        this.apply(page)
        after = page.checkpoint ?? after
      } catch (error) {
        this.onError(error)
        await new Promise((resolve) => setTimeout(resolve, retryDelayMs))
        iterator = this.pages(after)
      }
    }
  }

  private apply(page: Page): void {
    for (const recorded of page.events) {
      const event = decodeEvent(recorded) as MerchantEvent
      const { merchantId } = event.data
      const before = this.merchants.get(merchantId) ?? initialState
      const after = evolve(before, event)
      this.merchants.set(merchantId, after)
      this.index(merchantId, before, after)
    }
  }

  private index(merchantId: string, before: MerchantState, after: MerchantState): void {
    const previous = before.merchantId === null ? [] : before.settings.allowIps
    const current = after.merchantId === null ? [] : after.settings.allowIps
    if (previous === current) return
    for (const range of previous) this.addresses.remove(range, merchantId)
    for (const range of current) this.addresses.add(range, merchantId)
  }
}
