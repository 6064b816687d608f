import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type CommandContext,
  loadStream,
  oneAtATime,
  retryOnConflict,
  StreamCache,
  TooMuchContentionError,
  type Untimed,
} from '../../commands/handle-command.js'
import { type Refused, refuse } from '../../domain/decider.js'
import { isEasyPassword, isPassword, isPhone, normalEmail } from '../../domain/password-rules.js'
import { walletAccountStream, walletEmailStream } from '../../domain/streams.js'
import {
  debitOf,
  type Movement,
  type WalletAccount,
  type WalletAccountCommand,
  type WalletAccountEvent,
  type WalletAccountState,
  walletAccountDecider,
  walletEmailReservation,
} from '../../domain/wallet-account.js'
import { encodeEvent } from '../../event-store/event-codec.js'
import type { Append, EventStore } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/time.js'
import type { Passwords } from '../../security/passwords.js'
import type { SecretBox } from '../../security/secret-box.js'
import { firstTestAccount } from '../test-customer.js'

interface OpenWalletAccount {
  readonly email: string
  readonly password: string
  /** E.164. */
  readonly phone: string
  readonly openingBalanceMinor: bigint
  readonly sandbox?: boolean
}

type WalletAccountResult =
  | { readonly accepted: true; readonly account: WalletAccount; readonly changed: boolean }
  | Refused

/** The email, password or phone is invalid. The message states the reason without the values. */
export class InvalidWalletAccountError extends Error {
  override readonly name = 'InvalidWalletAccountError'
}

const contentionRounds = 5
/** The longest pause before a retry, so that another process that writes to the account can finish. */
const contentionPauseMs = 50
const maxWaitingForAccount = 1_000
const maxKnownAccounts = 1_000

/** Reads and changes the accounts of the built-in wallet. Methods may throw StoreUnavailableError or TooMuchContentionError. */
export class WalletAccounts {
  /** Runs the writes to one account in this process sequentially, so that they do not conflict. */
  readonly #queue = oneAtATime(maxWaitingForAccount)
  readonly #accounts: StreamCache<WalletAccountState, WalletAccountCommand, WalletAccountEvent>

  constructor(
    private readonly store: EventStore,
    private readonly clock: Clock,
    private readonly box: SecretBox,
    private readonly passwords: Passwords,
    /** Returns the number of a new account. A guess matches one of n accounts with a probability of n in 9 · 10^11. */
    private readonly newNumber: () => number = () => randomInt(100_000_000_000, firstTestAccount),
  ) {
    this.#accounts = new StreamCache(store, walletAccountDecider, maxKnownAccounts)
  }

  /** Opens an account, under the reserved number if a crash left only the email's reservation. @throws InvalidWalletAccountError */
  async open(request: OpenWalletAccount, context: CommandContext): Promise<WalletAccountResult> {
    const commandFor = await this.#prepareOpening(request)
    return retryOnConflict('the creation of a wallet account', async () => {
      const { emailMac, at } = commandFor(0)
      const reservation = walletEmailStream(emailMac)
      const { state, revision } = await loadStream(this.store, walletEmailReservation, reservation)
      const reserved = state.accountNumber
      const account = reserved === null ? undefined : await this.find(reserved)
      if (account?.emailMac === emailMac) return refuse('conflict', 'email-taken')
      const isReserved = reserved !== null && !account
      const accountNumber = isReserved ? reserved : this.newNumber()
      const decision = walletAccountDecider.decide(commandFor(accountNumber), walletAccountDecider.initialState)
      if (!decision.accepted) return decision
      const reserve = { type: 'WalletEmailReserved', data: { accountNumber, at } } as const
      const events = decision.events.map((event) => encodeEvent(event, context))
      const appends: Append[] = [
        { stream: reservation, expectedRevision: revision, events: [encodeEvent(reserve, context)] },
        { stream: walletAccountStream(accountNumber), expectedRevision: 'no_stream', events },
      ]
      // On a conflict, the email or the number has just been taken, and the next attempt reads which one.
      await this.store.appendInOrder(isReserved ? appends.slice(1) : appends)
      return opened(decision.events.reduce(walletAccountDecider.evolve, walletAccountDecider.initialState), true)
    })
  }

  async find(accountNumber: number): Promise<WalletAccount | undefined> {
    const { state } = await this.#accounts.load(walletAccountStream(accountNumber))
    return state.accountNumber === null ? undefined : state
  }

  findByEmail(email: string): Promise<WalletAccount | undefined> {
    return this.#findByMac(this.#emailMac(normalEmail(email) ?? ''))
  }

  /** Checks a password. An unknown email costs the same, so that the time does not reveal who has an account. @throws TooManyPasswordsError */
  async authenticate(email: string, password: string, queuedFor: string) {
    const emailMac = this.#emailMac(normalEmail(email) ?? '')
    const known = await this.#findByMac(emailMac)
    const secret = this.#keyedPassword(emailMac, password)
    return { known, matches: await this.passwords.verify(known?.passwordHash, secret, queuedFor) }
  }

  contact({ accountNumber, email, phone }: WalletAccount) {
    return {
      email: this.box.open(email, walletContactOwner(accountNumber, 'email')),
      phone: this.box.open(phone, walletContactOwner(accountNumber, 'phone')),
    }
  }

  /** Returns the result of the debit, or of its first attempt if it is repeated, or `undefined` if the account does not exist. */
  async debit(
    accountNumber: number,
    debit: { readonly trackingId: string; readonly amountMinor: bigint; readonly description: string },
    context: CommandContext,
  ): Promise<Movement | undefined> {
    const result = await this.execute(accountNumber, { type: 'Debit', ...debit }, context)
    return result.accepted ? debitOf(result.account, debit.trackingId) : undefined
  }

  /** Validates the request and returns a function that creates the command, because the account's number is chosen later. */
  async #prepareOpening({ email, password, phone, openingBalanceMinor, sandbox = false }: OpenWalletAccount) {
    const normal = normalEmail(email)
    if (normal === undefined) throw new InvalidWalletAccountError('the email is not a valid email address')
    if (!isPassword(password)) throw new InvalidWalletAccountError('the password is not 6 digits')
    // The service generates the passwords of sandbox accounts itself.
    if (!sandbox && isEasyPassword(password)) throw new InvalidWalletAccountError('the password is too easy to guess')
    if (!isPhone(phone)) throw new InvalidWalletAccountError('the phone is not a number such as +905551234567')
    const emailMac = this.#emailMac(normal)
    const passwordHash = await this.passwords.hash(this.#keyedPassword(emailMac, password), 'operator')
    const opening = { type: 'Open', emailMac, passwordHash, sandbox, openingBalanceMinor, at: this.clock() } as const
    return (accountNumber: number) => ({
      ...opening,
      accountNumber,
      email: this.box.seal(normal, walletContactOwner(accountNumber, 'email')),
      phone: this.box.seal(phone, walletContactOwner(accountNumber, 'phone')),
    })
  }

  async #findByMac(emailMac: string): Promise<WalletAccount | undefined> {
    const { state } = await loadStream(this.store, walletEmailReservation, walletEmailStream(emailMac))
    // No account has the number 0. It is read so that an unknown email costs as much as a known one.
    const account = await this.find(state.accountNumber ?? 0)
    return account?.emailMac === emailMac ? account : undefined
  }

  #emailMac(email: string): string {
    return this.box.mac('wallet email', email)
  }

  /** Returns the text to hash. It depends on the key, because without one, all million passwords could be tried quickly. */
  #keyedPassword(emailMac: string, password: string): string {
    return this.box.mac('wallet password', `${emailMac}:${password}`)
  }

  execute(
    accountNumber: number,
    command: Untimed<WalletAccountCommand>,
    context: CommandContext,
  ): Promise<WalletAccountResult> {
    const stream = walletAccountStream(accountNumber)
    const timed = { ...command, at: this.clock() }
    return this.#queue.run(stream, async () => {
      for (let round = 1; ; round++) {
        try {
          const result = await this.#accounts.handle(stream, timed, context, await this.#accounts.load(stream))
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
  if (state.accountNumber === null) throw new Error('an accepted command did not result in a wallet account')
  return { accepted: true, account: state, changed } as const
}

/** Returns the associated data of a sealed value, which can be opened for this account and purpose only. */
export function walletContactOwner(accountNumber: number, what: 'email' | 'phone'): string {
  return `wallet:${accountNumber}:${what}`
}
