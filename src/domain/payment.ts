import { dayMs, leftOfWaitMs } from '../kernel/time.js'
import { accept, type Decider, type Decision, refuse } from './decider.js'
import { erasedAccountNumber } from './erased-data.js'
import { Data, type DataOf, type EventsOf, Nullable, OneOf, Personal, type ValueOf } from './event.js'
import { AccountNumber, Count, Id, Minor, PositiveMinor, Text, Time } from './fields.js'

/** `unknown`: money may or may not have been taken. `not-taken`: the provider was unreachable, or nothing was left to pay. */
const CollectionOutcome = OneOf('collected', 'refused', 'unknown', 'not-taken')
export type CollectionOutcome = ValueOf<typeof CollectionOutcome>
const CollectionRefusal = OneOf('insufficient-balance', 'account-blocked')
export type CollectionRefusal = ValueOf<typeof CollectionRefusal>
const payment = { trackingId: Id, merchantId: Id, at: Time }

const challenge = {
  ...payment,
  /** The UUID of the login, which is also the `jti` of its tokens. */
  challengeId: Id,
}

const PayersAccount = Personal(AccountNumber, erasedAccountNumber)

/** How a customer pays one deposit from a wallet account, in `payment-<trackingId>`. No event holds a password or a code. */
export const paymentEvents = {
  WalletLoggedIn: Data({ ...challenge, accountNumber: PayersAccount }),
  /** A code is about to be compared. This is recorded first, so that every attempt counts. */
  WalletCodeAttempted: Data({ ...challenge, attempt: Count }),
  WalletCodeVerified: Data(challenge),
  /** The device is not trusted. The customer receives an email, whose link works until `expiresAt`. */
  WalletDeviceQuestioned: Data({ ...challenge, expiresAt: Time }),
  WalletDeviceConfirmed: Data(challenge),
  /** The provider is about to be called. This is recorded first, so that a crash leaves a trace. */
  WalletCollectionStarted: Data({
    ...challenge,
    /** The number of the collection among those of the deposit, from 1. */
    collection: Count,
    accountNumber: PayersAccount,
    amountMinor: PositiveMinor,
  }),
  WalletCollectionEnded: Data({
    ...payment,
    collection: Count,
    outcome: CollectionOutcome,
    /** The collected amount; 0 for any other outcome. */
    collectedAmountMinor: Minor,
    receiptUrl: Nullable(Text),
    /** The reason of a refusal; null for any other outcome. */
    reason: Nullable(CollectionRefusal),
  }),
}

export type PaymentEvent = EventsOf<typeof paymentEvents>

/** Wrong codes for one wallet account in the deposits of all merchants, in `walletcodes-<keyed digest>`. */
export const codeCapEvents = { WalletCodeRefused: Data({ ...challenge, accountNumber: PayersAccount, attempt: Count }) }

/** Wrong passwords for one wallet account, and its known devices, in `walletlogins-<keyed digest of the email>`. */
export const walletLoginEvents = {
  WalletLogInFailed: Data({
    ...payment,
    device: Nullable(Id),
    /** The number of failures from 1, since the last correct password of a known device, or since a day without any. */
    failure: Count,
  }),
  /** The password was correct on this device, whose earlier failures no longer count. */
  WalletLogInDeviceKnown: Data({ ...payment, device: Id }),
}

/** The largest number of logins for one deposit. Each sends a text message, and a customer who pays needs fewer. */
export const maxLogins = 20
export const maxCodeAttempts = 5
/** The number of collections for one login. There is more than one only while the wallet is unavailable. */
export const maxCollections = 5
export const collectionPauseMs = 10_000

export interface Challenge {
  readonly id: string
  readonly accountNumber: number
  readonly attempts: number
  readonly verified: boolean
  /** The time until which the link in the email works; null if none was sent. */
  readonly questionExpiresAt: string | null
  readonly deviceConfirmed: boolean
}

type Recorded<Type extends PaymentEvent['type']> = DataOf<PaymentEvent, Type>

export interface PaymentCollection
  extends Pick<Recorded<'WalletCollectionStarted'>, 'challengeId' | 'accountNumber' | 'amountMinor'>,
    Pick<Recorded<'WalletCollectionEnded'>, 'collectedAmountMinor' | 'receiptUrl' | 'reason'> {
  readonly number: number
  /** `open` until the outcome is recorded. */
  readonly outcome: 'open' | CollectionOutcome
  /** Null while it is open. */
  readonly endedAt: string | null
}

export interface Payment {
  readonly challenges: readonly Challenge[]
  /** The collections in the order in which they started. At most one is open. */
  readonly collections: readonly PaymentCollection[]
}

export type PaymentCommand =
  | ({ readonly type: 'LogIn' } & Recorded<'WalletLoggedIn'>)
  | ({ readonly type: 'AttemptCode' | 'VerifyCode' | 'ConfirmDevice' } & Recorded<'WalletCodeVerified'>)
  | ({ readonly type: 'QuestionDevice' } & Recorded<'WalletDeviceQuestioned'>)
  | ({ readonly type: 'StartCollection'; readonly amountMinor: bigint } & Recorded<'WalletCodeVerified'>)
  | ({ readonly type: 'EndCollection' } & Recorded<'WalletCollectionEnded'>)

export const paymentDecider: Decider<Payment, PaymentCommand, PaymentEvent, PaymentRule> = {
  initialState: { challenges: [], collections: [] },
  decide,
  evolve,
}

export function findChallenge(payment: Payment, challengeId: string): Challenge | undefined {
  return payment.challenges.find(({ id }) => id === challengeId)
}

export function isCollectedFrom(payment: Payment, accountNumber: number): boolean {
  return payment.collections.some((each) => each.accountNumber === accountNumber && each.outcome === 'collected')
}

export function latestCollection(payment: Payment, challengeId: string): PaymentCollection | undefined {
  return payment.collections.findLast((each) => each.challengeId === challengeId)
}

/** Returns the account from which money was collected last, with all that was collected from it; `null` if none was. */
export function collectedFrom({ collections }: Payment) {
  const collected = collections.filter(({ outcome }) => outcome === 'collected')
  const last = collected.at(-1)
  if (!last) return null
  const { accountNumber } = last
  const ofAccount = collected.filter((each) => each.accountNumber === accountNumber)
  return { accountNumber, amountMinor: ofAccount.reduce((sum, each) => sum + each.collectedAmountMinor, 0n) }
}

/** Returns the sum that the wallet has taken. */
export function collectedMinor({ collections }: Payment): bigint {
  return collections.reduce((sum, { outcome, collectedAmountMinor }) => {
    return outcome === 'collected' ? sum + collectedAmountMinor : sum
  }, 0n)
}

export function openCollection(payment: Payment): PaymentCollection | undefined {
  return payment.collections.find(({ outcome }) => outcome === 'open')
}

function decide(command: PaymentCommand, state: Payment): Decision<PaymentEvent, PaymentRule> {
  if (command.type === 'EndCollection') return endCollection(command, state)
  const { trackingId, merchantId, challengeId, at } = command
  const data = { trackingId, merchantId, challengeId, at }
  const busy = unfinished(state)
  if (command.type === 'LogIn') {
    if (busy) return refuse('conflict', busy)
    if (state.challenges.length >= maxLogins) return refuse('conflict', 'too-many-logins')
    return accept({ type: 'WalletLoggedIn', data: { ...data, accountNumber: command.accountNumber } })
  }
  const challenge = findChallenge(state, challengeId)
  if (!challenge) return refuse('conflict', 'unknown-challenge')
  const { accountNumber, attempts, verified, questionExpiresAt } = challenge
  switch (command.type) {
    case 'AttemptCode':
      if (verified) return refuse('conflict', 'already-verified')
      if (attempts >= maxCodeAttempts) return refuse('conflict', 'too-many-attempts')
      if (busy) return refuse('conflict', busy)
      return accept({ type: 'WalletCodeAttempted', data: { ...data, attempt: attempts + 1 } })
    case 'VerifyCode':
      // Only one of two simultaneous correct codes uses up the token.
      return verified ? refuse('conflict', 'already-verified') : accept({ type: 'WalletCodeVerified', data })
    case 'QuestionDevice':
      if (!verified) return refuse('conflict', 'code-not-verified')
      if (questionExpiresAt !== null) return accept()
      return accept({ type: 'WalletDeviceQuestioned', data: { ...data, expiresAt: command.expiresAt } })
    case 'ConfirmDevice':
      if (questionExpiresAt === null) return refuse('conflict', 'code-not-verified')
      return challenge.deviceConfirmed ? accept() : accept({ type: 'WalletDeviceConfirmed', data })
    case 'StartCollection': {
      if (!verified) return refuse('conflict', 'code-not-verified')
      const problem = busy ?? rateRefusal(state, challengeId, at)
      if (problem) return refuse('conflict', problem)
      const { amountMinor } = command
      const collection = state.collections.length + 1
      return accept({ type: 'WalletCollectionStarted', data: { ...data, collection, accountNumber, amountMinor } })
    }
    default:
      return command satisfies never
  }
}

function unfinished(state: Payment): PaymentRule | undefined {
  if (openCollection(state)) return 'collecting'
  const isTaken = state.collections.some(({ outcome }) => outcome === 'collected' || outcome === 'unknown')
  return isTaken ? 'collected' : undefined
}

/** Returns why a login cannot collect again. A client that polls gets the recorded outcome and reaches neither the stream nor the wallet. */
function rateRefusal(state: Payment, challengeId: string, at: string): PaymentRule | undefined {
  const latest = latestCollection(state, challengeId)
  if (!latest?.endedAt) return undefined
  if (latest.outcome === 'refused') return 'refused-before'
  const started = state.collections.filter((each) => each.challengeId === challengeId)
  if (started.length >= maxCollections) return 'too-many-collections'
  return Date.parse(at) - Date.parse(latest.endedAt) < collectionPauseMs ? 'too-soon' : undefined
}

/**
 * Keeps the first outcome of a collection, except that collected money is always recorded: a response that arrives after a timeout is more
 * certain than the timeout. An account is debited once per deposit, so two collected outcomes of one account mean the same money.
 */
function endCollection(
  { type: _, ...data }: PaymentCommand & { type: 'EndCollection' },
  state: Payment,
): Decision<PaymentEvent, PaymentRule> {
  const collection = state.collections[data.collection - 1]
  if (!collection) return refuse('conflict', 'unknown-challenge')
  const isOpen = collection.outcome === 'open'
  if (data.outcome !== 'collected') return isOpen ? accept({ type: 'WalletCollectionEnded', data }) : accept()
  if (!isCollectedFrom(state, collection.accountNumber)) return accept({ type: 'WalletCollectionEnded', data })
  if (!isOpen) return accept()
  const nothing = { outcome: 'not-taken', collectedAmountMinor: 0n, receiptUrl: null } as const
  return accept({ type: 'WalletCollectionEnded', data: { ...data, ...nothing } })
}

/** Why a command of the flow is rejected. The caller has a response for each, so these rules have no texts. */
export type PaymentRule =
  | 'too-many-logins'
  | 'unknown-challenge'
  | 'already-verified'
  | 'code-not-verified'
  | 'too-many-attempts'
  /** The outcome of the open collection comes first. */
  | 'collecting'
  /** Money was taken, or may have been. */
  | 'collected'
  /** The wallet refused the money. Its response is final for this login; another login asks again. */
  | 'refused-before'
  | 'too-soon'
  /** The wallet was unavailable {@link maxCollections} times; another login asks again. */
  | 'too-many-collections'

function evolve(state: Payment, event: PaymentEvent): Payment {
  switch (event.type) {
    case 'WalletLoggedIn': {
      const { challengeId: id, accountNumber } = event.data
      const none = { attempts: 0, verified: false, questionExpiresAt: null, deviceConfirmed: false }
      return { ...state, challenges: [...state.challenges, { id, accountNumber, ...none }] }
    }
    case 'WalletCodeAttempted':
      return changeChallenge(state, event.data.challengeId, { attempts: event.data.attempt })
    case 'WalletCodeVerified':
      return changeChallenge(state, event.data.challengeId, { verified: true })
    case 'WalletDeviceQuestioned':
      return changeChallenge(state, event.data.challengeId, { questionExpiresAt: event.data.expiresAt })
    case 'WalletDeviceConfirmed':
      return changeChallenge(state, event.data.challengeId, { deviceConfirmed: true })
    case 'WalletCollectionStarted': {
      const { collection: number, challengeId, accountNumber, amountMinor } = event.data
      const open = { outcome: 'open', collectedAmountMinor: 0n, receiptUrl: null, reason: null, endedAt: null } as const
      const started = { number, challengeId, accountNumber, amountMinor, ...open }
      return { ...state, collections: [...state.collections, started] }
    }
    case 'WalletCollectionEnded': {
      const { collection: number, outcome, collectedAmountMinor, receiptUrl, reason, at: endedAt } = event.data
      const ending = { outcome, collectedAmountMinor, receiptUrl, reason, endedAt }
      const collections = state.collections.map((each) => (each.number === number ? { ...each, ...ending } : each))
      return { ...state, collections }
    }
    default:
      return event satisfies never
  }
}

function changeChallenge(state: Payment, challengeId: string, changes: Partial<Challenge>): Payment {
  const challenges = state.challenges.map((each) => (each.id === challengeId ? { ...each, ...changes } : each))
  return { ...state, challenges }
}

type WalletCodeRefused = EventsOf<typeof codeCapEvents>

/** The wrong codes allowed for one account per day. A guesser who has the password needs 50,000 days on average. */
export const maxWrongCodes = 20

interface WrongCodes {
  /** The times of the latest {@link maxWrongCodes}, oldest first. */
  readonly latest: readonly string[]
}

export const codeCapDecider: Decider<WrongCodes, WalletCodeRefused['data'], WalletCodeRefused> = {
  initialState: { latest: [] },
  decide: (data) => accept({ type: 'WalletCodeRefused', data }),
  evolve: ({ latest }, { data }) => ({ latest: [...latest, data.at].slice(-maxWrongCodes) }),
}

/** Returns when (in milliseconds since the epoch) codes of the account are compared again, or `undefined` if they are compared now. */
export function codesLockedUntilMs({ latest }: WrongCodes, nowMs: number): number | undefined {
  if (latest.length < maxWrongCodes) return undefined
  const sinceMs = Date.parse(latest[0]!)
  return leftOfWaitMs(sinceMs, sinceMs + dayMs, nowMs) > 0 ? sinceMs + dayMs : undefined
}
