import { accept, type Decider, type Decision, refuse } from '../../kernel/decision.js'
import type { DataOf } from '../event.js'
import type { CollectionOutcome, CollectionRefusal, PaymentEvent } from './payment-events.js'

/** Each sends a text message; nobody who means to pay logs in more often for one deposit. */
export const maxLogIns = 20
/** Codes compared for one log-in. */
export const maxCodeAttempts = 5
/** How often the wallet is asked for the money of one log-in: more than once only while it cannot be reached. */
export const maxCollections = 5
/** Between two of them. */
export const collectionPauseMs = 10_000

export interface Challenge {
  readonly id: string
  readonly accountNumber: number
  readonly attempts: number
  readonly verified: boolean
  /** Until when the link of the e-mail works; null while none was sent. */
  readonly questionExpiresAt: string | null
  readonly deviceConfirmed: boolean
}

export interface PaymentCollection {
  readonly number: number
  readonly challengeId: string
  readonly accountNumber: number
  readonly amountMinor: bigint
  /** `open` until what became of it is recorded. */
  readonly outcome: 'open' | CollectionOutcome
  /** Minor units; 0 unless collected. */
  readonly collectedAmountMinor: bigint
  readonly receiptUrl: string | null
  readonly reason: CollectionRefusal | null
  /** ISO 8601; null while it is open. */
  readonly endedAt: string | null
}

export interface Payment {
  readonly challenges: readonly Challenge[]
  /** In the order they were started; at most one is open. */
  readonly collections: readonly PaymentCollection[]
}

interface Of {
  readonly trackingId: string
  readonly merchantId: string
  readonly at: string
}

export type PaymentCommand =
  | (Of & { readonly type: 'LogIn'; readonly challengeId: string; readonly accountNumber: number })
  | (Of & { readonly type: 'AttemptCode' | 'VerifyCode' | 'ConfirmDevice'; readonly challengeId: string })
  | (Of & { readonly type: 'QuestionDevice'; readonly challengeId: string; readonly expiresAt: string })
  | (Of & { readonly type: 'StartCollection'; readonly challengeId: string; readonly amountMinor: bigint })
  | ({ readonly type: 'EndCollection' } & DataOf<PaymentEvent, 'WalletCollectionEnded'>)

export const paymentDecider: Decider<Payment, PaymentCommand, PaymentEvent, PaymentRule> = {
  initialState: { challenges: [], collections: [] },
  decide,
  evolve,
}

export function findChallenge(payment: Payment, challengeId: string): Challenge | undefined {
  return payment.challenges.find(({ id }) => id === challengeId)
}

/** Whether money of the deposit is known to have come from this account. */
export function isCollectedFrom(payment: Payment, accountNumber: number): boolean {
  return payment.collections.some((each) => each.accountNumber === accountNumber && each.outcome === 'collected')
}

/** The account the money came from; the latest, should there be several. */
export function paidFrom(payment: Payment): number | undefined {
  return payment.collections.findLast(({ outcome }) => outcome === 'collected')?.accountNumber
}

/** The latest collection that was begun for a log-in. */
export function latestCollection(payment: Payment, challengeId: string): PaymentCollection | undefined {
  return payment.collections.findLast((each) => each.challengeId === challengeId)
}

export function openCollection(payment: Payment): PaymentCollection | undefined {
  return payment.collections.find(({ outcome }) => outcome === 'open')
}

function decide(command: PaymentCommand, state: Payment): Decision<PaymentEvent, PaymentRule> {
  const { trackingId, merchantId, at } = command
  const common = { trackingId, merchantId, at }
  if (command.type === 'EndCollection') return endCollection(command, state)
  if (command.type === 'LogIn') {
    const { challengeId, accountNumber } = command
    const busy = unfinished(state)
    if (busy) return refuse('conflict', busy)
    if (state.challenges.length >= maxLogIns) return refuse('conflict', 'too-many-log-ins')
    return accept({ type: 'WalletLoggedIn', data: { ...common, challengeId, accountNumber } })
  }
  const challenge = findChallenge(state, command.challengeId)
  if (!challenge) return refuse('conflict', 'unknown-challenge')
  const data = { ...common, challengeId: challenge.id }
  switch (command.type) {
    case 'AttemptCode': {
      if (challenge.verified) return refuse('conflict', 'already-verified')
      if (challenge.attempts >= maxCodeAttempts) return refuse('conflict', 'too-many-attempts')
      const busy = unfinished(state)
      if (busy) return refuse('conflict', busy)
      return accept({ type: 'WalletCodeAttempted', data: { ...data, attempt: challenge.attempts + 1 } })
    }
    case 'VerifyCode':
      // Of two right codes at once, one uses the token up.
      if (challenge.verified) return refuse('conflict', 'already-verified')
      return accept({ type: 'WalletCodeVerified', data })
    case 'QuestionDevice':
      if (!challenge.verified) return refuse('conflict', 'not-verified')
      if (challenge.questionExpiresAt !== null) return accept()
      return accept({ type: 'WalletDeviceQuestioned', data: { ...data, expiresAt: command.expiresAt } })
    case 'ConfirmDevice':
      if (challenge.questionExpiresAt === null) return refuse('conflict', 'not-verified')
      return challenge.deviceConfirmed ? accept() : accept({ type: 'WalletDeviceConfirmed', data })
    case 'StartCollection': {
      if (!challenge.verified) return refuse('conflict', 'not-verified')
      const problem = unfinished(state) ?? tooOften(state, challenge.id, at)
      if (problem) return refuse('conflict', problem)
      const { accountNumber } = challenge
      const collection = state.collections.length + 1
      const { amountMinor } = command
      return accept({ type: 'WalletCollectionStarted', data: { ...data, collection, accountNumber, amountMinor } })
    }
    default:
      return command satisfies never
  }
}

/** What keeps a deposit from being collected (again). */
function unfinished(state: Payment): PaymentRule | undefined {
  if (openCollection(state)) return 'collecting'
  return state.collections.some(({ outcome }) => outcome === 'collected' || outcome === 'unknown')
    ? 'collected'
    : undefined
}

/** Whoever asks again and again gets the outcome that is recorded: neither the stream nor the wallet learns of it. */
function tooOften(state: Payment, challengeId: string, at: string): PaymentRule | undefined {
  const latest = latestCollection(state, challengeId)
  if (!latest?.endedAt) return undefined
  if (latest.outcome === 'refused') return 'refused-before'
  const begun = state.collections.filter((each) => each.challengeId === challengeId)
  if (begun.length >= maxCollections) return 'too-many-collections'
  return Date.parse(at) - Date.parse(latest.endedAt) < collectionPauseMs ? 'too-soon' : undefined
}

/**
 * The first outcome stays, except that taken money is always recorded: an answer that comes after the collection was given
 * up says more than the giving up. An account is debited once for a deposit, so two collections from it that both say so mean
 * the same money.
 */
function endCollection(
  command: PaymentCommand & { type: 'EndCollection' },
  state: Payment,
): Decision<PaymentEvent, PaymentRule> {
  const { type: _, ...data } = command
  const collection = state.collections[command.collection - 1]
  if (!collection) return refuse('conflict', 'unknown-challenge')
  const isOpen = collection.outcome === 'open'
  if (command.outcome !== 'collected') return isOpen ? accept({ type: 'WalletCollectionEnded', data }) : accept()
  if (!isCollectedFrom(state, collection.accountNumber)) return accept({ type: 'WalletCollectionEnded', data })
  if (!isOpen) return accept()
  const nothing = { outcome: 'not-taken', collectedAmountMinor: 0n, receiptUrl: null } as const
  return accept({ type: 'WalletCollectionEnded', data: { ...data, ...nothing } })
}

/** Why a command of the flow is rejected. The caller has a response for each, so these rules have no texts. */
export type PaymentRule =
  | 'too-many-log-ins'
  | 'unknown-challenge'
  | 'already-verified'
  | 'not-verified'
  | 'too-many-attempts'
  /** The outcome of the open collection comes first. */
  | 'collecting'
  /** Money was taken, or may have been. */
  | 'collected'
  /** The wallet refused the money. Its response is final for this login; another login asks again. */
  | 'refused-before'
  /** The wallet was unavailable just now. */
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
