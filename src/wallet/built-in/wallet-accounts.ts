import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type CommandContext, loadStream } from '../../commands/handle-command.js'
import { StreamCache } from '../../commands/stream-cache.js'
import { oneAtATime, retryOnConflict, TooMuchContentionError } from '../../commands/write-contention.js'
import { normalEmail } from '../../domain/email.js'
import { erasedAccountNumber } from '../../domain/personal-data.js'
import { walletAccountStream, walletEmailStream } from '../../domain/streams.js'
import { isEasyPassword, isPassword, isPhone } from '../../domain/wallet/credentials.js'
import {
  debitOf,
  emailReservationDecider,
  type Movement,
  type WalletAccount,
  type WalletAccountCommand,
  type WalletAccountState,
  walletAccountDecider,
} from '../../domain/wallet/wallet-account.js'
import type { WalletAccountEvent } from '../../domain/wallet/wallet-events.js'
import { encodeEvent } from '../../event-store/event-codec.js'
import type { Append, EventStore } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/clock.js'
import { type Refusal, refuse } from '../../kernel/decision.js'
import type { Passwords } from '../../security/passwords.js'
import type { SecretBox } from '../../security/secret-box.js'

export interface OpenWalletAccount {
  readonly email: string
  /** Six digits. */
  readonly password: string
  /** E.164. */
  readonly phone: string
  /** 0 for none. */
  readonly openingBalanceMinor: bigint
  /** Usable in sandbox operation only. */
  readonly sandbox?: boolean
}

export type WalletAccountResult =
  | { readonly accepted: true; readonly account: WalletAccount; readonly changed: boolean }
  | { readonly accepted: false; readonly refusal: Refusal }

/** What is wrong with an e-mail, a password or a phone, in a sentence without them. */
export class InvalidWalletAccountError extends Error {
  override readonly name = 'InvalidWalletAccountError'
}

const contentionRounds = 5
/** Other processes write to an account too; the pause lets one of them get through. */
const contentionPauseMs = 50
const maxWaitingForAccount = 1_000
const maxKnownAccounts = 1_000

/**
 * All that is done to accounts of the built-in wallet. Every method may throw StoreUnavailableError; those that write, also
 * TooMuchContentionError (nothing was appended).
 */
export class WalletAccounts {
  /** Writers of one account in this process take turns; they would conflict with one another otherwise. */
  readonly #queue = oneAtATime(maxWaitingForAccount)
  readonly #accounts: StreamCache<WalletAccountState, WalletAccountCommand, WalletAccountEvent>

  constructor(
    private readonly store: EventStore,
    private readonly clock: Clock,
    private readonly box: SecretBox,
    private readonly passwords: Passwords,
    /** The number of a new account; a guess meets one of n accounts with a chance of n in 9 · 10^11. */
    private readonly newNumber: () => number = () => randomInt(100_000_000_000, erasedAccountNumber),
  ) {
    this.#accounts = new StreamCache(store, walletAccountDecider, maxKnownAccounts)
  }

  /**
   * The e-mail's reservation comes first and its account after it: whoever finds the one without the other (a crash in
   * between) opens the account under the number reserved. @throws InvalidWalletAccountError
   */
  async open(request: OpenWalletAccount, context: CommandContext): Promise<WalletAccountResult> {
    const commandFor = await this.#prepareOpening(request)
    return retryOnConflict('the creation of a wallet account', async () => {
      const { emailMac, at } = commandFor(0)
      const reservation = walletEmailStream(emailMac)
      const { state, revision } = await loadStream(this.store, emailReservationDecider, reservation)
      const reserved = state.accountNumber
      const account = reserved === null ? undefined : await this.find(reserved)
      if (account?.emailMac === emailMac) return refuse('conflict', 'email-taken')
      const isReserved = reserved !== null && !account
      const accountNumber = isReserved ? reserved : this.newNumber()
      const decision = walletAccountDecider.decide(commandFor(accountNumber), walletAccountDecider.initialState)
      if (!decision.accepted) return decision
      const reserve = { type: 'WalletEmailReserved', data: { accountNumber, at } } as const
      const appends: Append[] = [
        { stream: reservation, expectedRevision: revision, events: [encodeEvent(reserve, context)] },
        {
          stream: walletAccountStream(accountNumber),
          expectedRevision: 'no_stream',
          events: decision.events.map((event) => encodeEvent(event, context)),
        },
      ]
      // A conflict means that the e-mail or the number has just been taken. The next attempt reads which.
      await this.store.appendInOrder(isReserved ? appends.slice(1) : appends)
      return opened(decision.events.reduce(walletAccountDecider.evolve, walletAccountDecider.initialState), true)
    })
  }

  /** Undefined when there is none. */
  async find(accountNumber: number): Promise<WalletAccount | undefined> {
    const { state } = await this.#accounts.load(walletAccountStream(accountNumber))
    return state.accountNumber === null ? undefined : state
  }

  /** Undefined when nobody has one with this e-mail. */
  findByEmail(email: string): Promise<WalletAccount | undefined> {
    return this.#findByMac(this.#emailMac(normalEmail(email) ?? ''))
  }

  /**
   * The account of this e-mail, and whether the password is its own. An unknown e-mail costs the same reads and the same hash as a wrong password,
   * so that neither the answer nor its time tells who has an account. @throws TooManyPasswordsError
   */
  async authenticate(
    email: string,
    password: string,
    queuedFor: string,
  ): Promise<{ readonly known: WalletAccount | undefined; readonly matches: boolean }> {
    const emailMac = this.#emailMac(normalEmail(email) ?? '')
    const known = await this.#findByMac(emailMac)
    const secret = this.#keyedPassword(emailMac, password)
    const matches = await this.passwords.verify(known?.passwordHash, secret, queuedFor)
    return { known, matches }
  }

  /** @throws SecretBoxError with another master key */
  contact({ accountNumber, email, phone }: WalletAccount): { readonly email: string; readonly phone: string } {
    return {
      email: this.box.open(email, walletContactOwner(accountNumber, 'email')),
      phone: this.box.open(phone, walletContactOwner(accountNumber, 'phone')),
    }
  }

  /** Once for each reference. */
  credit(
    accountNumber: number,
    { reference, amountMinor }: { readonly reference: string; readonly amountMinor: bigint },
    context: CommandContext,
  ): Promise<WalletAccountResult> {
    return this.#execute(accountNumber, { type: 'Credit', reference, amountMinor, at: this.clock() }, context)
  }

  trustDevice(accountNumber: number, device: string, context: CommandContext): Promise<WalletAccountResult> {
    return this.#execute(accountNumber, { type: 'TrustDevice', device, at: this.clock() }, context)
  }

  /** What became of it, now or when it was asked before; undefined when there is no such account. */
  async debit(
    accountNumber: number,
    debit: { readonly trackingId: string; readonly amountMinor: bigint; readonly description: string },
    context: CommandContext,
  ): Promise<Movement | undefined> {
    const result = await this.#execute(accountNumber, { type: 'Debit', ...debit, at: this.clock() }, context)
    return result.accepted ? debitOf(result.account, debit.trackingId) : undefined
  }

  /** The command by the account's number, which is found last. */
  async #prepareOpening({ email, password, phone, openingBalanceMinor, sandbox = false }: OpenWalletAccount) {
    const normal = normalEmail(email)
    if (normal === undefined) throw new InvalidWalletAccountError('the e-mail is not an e-mail address')
    if (!isPassword(password)) throw new InvalidWalletAccountError('the password is not 6 digits')
    // The sandbox's was made here, of no person's choosing.
    if (!sandbox && isEasyPassword(password)) throw new InvalidWalletAccountError('the password is too easy to guess')
    if (!isPhone(phone)) throw new InvalidWalletAccountError('the phone is not a number such as +905551234567')
    const emailMac = this.#emailMac(normal)
    const passwordHash = await this.passwords.hash(this.#keyedPassword(emailMac, password), 'operator')
    const at = this.clock()
    return (accountNumber: number) =>
      ({
        type: 'Open',
        accountNumber,
        emailMac,
        email: this.box.seal(normal, walletContactOwner(accountNumber, 'email')),
        phone: this.box.seal(phone, walletContactOwner(accountNumber, 'phone')),
        passwordHash,
        sandbox,
        openingBalanceMinor,
        at,
      }) as const
  }

  async #findByMac(emailMac: string): Promise<WalletAccount | undefined> {
    const { state } = await loadStream(this.store, emailReservationDecider, walletEmailStream(emailMac))
    // Number 0 is nobody's: it is read so that an unknown e-mail costs what a known one does.
    const account = await this.find(state.accountNumber ?? 0)
    return account?.emailMac === emailMac ? account : undefined
  }

  #emailMac(email: string): string {
    return this.box.mac('wallet email', email)
  }

  /** What is hashed: a million passwords are soon tried, but not without the key. */
  #keyedPassword(emailMac: string, password: string): string {
    return this.box.mac('wallet password', `${emailMac}:${password}`)
  }

  #execute(
    accountNumber: number,
    command: WalletAccountCommand,
    context: CommandContext,
  ): Promise<WalletAccountResult> {
    const stream = walletAccountStream(accountNumber)
    return this.#queue.run(stream, async () => {
      for (let round = 1; ; round++) {
        try {
          const result = await this.#accounts.handle(stream, command, context, await this.#accounts.load(stream))
          return result.accepted ? opened(result.state, result.events.length > 0) : result
        } catch (error) {
          if (!(error instanceof TooMuchContentionError) || round === contentionRounds) throw error
          await delay(Math.random() * contentionPauseMs)
        }
      }
    })
  }
}

function opened(state: WalletAccountState, changed: boolean) {
  if (state.accountNumber === null) throw new Error('an accepted command left no wallet account')
  return { accepted: true, account: state, changed } as const
}

/** Associated data of what is sealed: it opens for this account and purpose only. */
export function walletContactOwner(accountNumber: number, what: 'email' | 'phone'): string {
  return `wallet:${accountNumber}:${what}`
}
