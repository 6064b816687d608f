import { Type } from '../kernel/typebox.js'
import { accept, type Decider, type Decision, type Folded, refuse } from './decider.js'
import { Data, type DataOf, type EventsOf } from './event.js'
import { AccountNumber, Id, PasswordHash, PositiveMinor, Sealed, Text, Time } from './fields.js'

const account = { accountNumber: AccountNumber, at: Time }
const payment = { ...account, trackingId: Id, amountMinor: PositiveMinor, description: Text }

/** The events of an account of the built-in wallet, in `wallet-<accountNumber>`. */
export const walletAccountEvents = {
  WalletAccountOpened: Data({
    ...account,
    /** The keyed digest of the normalised email, by which its reservation is found too. */
    emailMac: Id,
    email: Sealed,
    phone: Sealed,
    passwordHash: PasswordHash,
    /** Whether the account pays sandbox deposits only. Its money is not real. */
    sandbox: Type.Boolean(),
  }),
  /** At most one for each reference. */
  WalletAccountCredited: Data({ ...account, reference: Id, amountMinor: PositiveMinor }),
  /** At most one for each trackingId. */
  WalletAccountDebited: Data(payment),
  /** The balance did not cover a debit, which can be requested again. */
  WalletDebitRefused: Data(payment),
  WalletDeviceTrusted: Data({ ...account, device: Id }),
  /** The same email and phone, sealed with a different master key. */
  WalletContactResealed: Data({ ...account, email: Sealed, phone: Sealed }),
}

export type WalletAccountEvent = EventsOf<typeof walletAccountEvents>

/** The account that an email belongs to, in `walletemail-<keyed digest>`. A second event follows only if the first account could not be opened. */
export const walletEmailEvents = { WalletEmailReserved: Data(account) }

/** The largest balance: amounts are stored with at most 15 digits. */
export const maxBalanceMinor = 999_999_999_999_999n
/** The largest number of trusted devices. Beyond it, the one that was trusted first is removed. */
export const maxTrustedDevices = 100
const openingReference = 'opening balance'

export interface Movement {
  readonly kind: 'credit' | 'debit' | 'refused debit'
  /** The reference of a credit, or the trackingId of a debit. */
  readonly key: string
  readonly amountMinor: bigint
  readonly description: string | null
  readonly at: string
  /** The previous movement. Each event costs the same, because the list grows at its head. */
  readonly previous: Movement | undefined
}

/** The email and the phone are sealed. */
export interface WalletAccount extends Omit<DataOf<WalletAccountEvent, 'WalletAccountOpened'>, 'at'> {
  readonly balanceMinor: bigint
  readonly movement: Movement | undefined
  /** The trusted devices, the one that was trusted first at the start. */
  readonly trustedDevices: readonly string[]
  readonly openedAt: string
}

export type WalletAccountState = { readonly accountNumber: null } | WalletAccount
type OfAccount<Type extends WalletAccountEvent['type']> = Omit<DataOf<WalletAccountEvent, Type>, 'accountNumber'>

export type WalletAccountCommand =
  | ({ readonly type: 'Open'; readonly openingBalanceMinor: bigint } & DataOf<
      WalletAccountEvent,
      'WalletAccountOpened'
    >)
  | ({ readonly type: 'Credit' } & OfAccount<'WalletAccountCredited'>)
  | ({ readonly type: 'Debit' } & OfAccount<'WalletAccountDebited'>)
  /** Replaces each sealed text by the value of the map. A text that is not a key of the map is unchanged. */
  | { readonly type: 'Reseal'; readonly resealed: ReadonlyMap<string, string>; readonly at: string }
  | ({ readonly type: 'TrustDevice' } & OfAccount<'WalletDeviceTrusted'>)

type Named<Type extends WalletAccountCommand['type']> = Extract<WalletAccountCommand, { type: Type }>

export const walletAccountDecider: Decider<WalletAccountState, WalletAccountCommand, WalletAccountEvent> = {
  initialState: { accountNumber: null },
  decide,
  evolve,
}

/** Returns the debit of a trackingId, or its latest refused debit if no money was taken. */
export function debitOf(account: WalletAccount, trackingId: string): Movement | undefined {
  // No refusal follows a debit, so the latest movement decides.
  return findMovement(account, ({ kind, key }) => kind !== 'credit' && key === trackingId)
}

function findMovement({ movement }: WalletAccount, matches: (movement: Movement) => boolean): Movement | undefined {
  let found = movement
  while (found && !matches(found)) found = found.previous
  return found
}

function decide(command: WalletAccountCommand, state: WalletAccountState): Decision<WalletAccountEvent> {
  if (command.type === 'Open') return open(command, state)
  if (state.accountNumber === null) return refuse('not-found', 'unknown-account')
  const { accountNumber, email, phone } = state
  const { at } = command
  switch (command.type) {
    case 'Credit':
      return credit(command, state)
    case 'Debit':
      return debit(command, state)
    case 'TrustDevice':
      if (state.trustedDevices.includes(command.device)) return accept()
      return accept({ type: 'WalletDeviceTrusted', data: { accountNumber, device: command.device, at } })
    case 'Reseal': {
      const { resealed } = command
      if (!resealed.has(email) && !resealed.has(phone)) return accept()
      const contact = { email: resealed.get(email) ?? email, phone: resealed.get(phone) ?? phone }
      return accept({ type: 'WalletContactResealed', data: { accountNumber, ...contact, at } })
    }
    default:
      return command satisfies never
  }
}

function open(command: Named<'Open'>, state: WalletAccountState): Decision<WalletAccountEvent> {
  if (state.accountNumber !== null) return refuse('conflict', 'account-exists')
  const { type: _, openingBalanceMinor: amountMinor, ...data } = command
  const opened = { type: 'WalletAccountOpened', data } as const
  if (amountMinor === 0n) return accept(opened)
  if (amountMinor > maxBalanceMinor) return refuse('conflict', 'balance-too-large')
  const credit = { accountNumber: command.accountNumber, reference: openingReference, amountMinor, at: command.at }
  return accept<WalletAccountEvent>(opened, { type: 'WalletAccountCredited', data: credit })
}

function credit({ type: _, ...data }: Named<'Credit'>, account: WalletAccount): Decision<WalletAccountEvent> {
  const before = findMovement(account, ({ kind, key }) => kind === 'credit' && key === data.reference)
  if (before) return before.amountMinor === data.amountMinor ? accept() : refuse('conflict', 'reference-credited')
  if (account.balanceMinor + data.amountMinor > maxBalanceMinor) return refuse('conflict', 'balance-too-large')
  return accept({ type: 'WalletAccountCredited', data: { accountNumber: account.accountNumber, ...data } })
}

/** A refused debit is an event and not a refused command, because the account's owner can ask about it. */
function debit(command: Named<'Debit'>, account: WalletAccount): Decision<WalletAccountEvent> {
  const { trackingId, amountMinor, description, at } = command
  const before = debitOf(account, trackingId)
  if (before?.kind === 'debit') return accept()
  const data = { accountNumber: account.accountNumber, trackingId, amountMinor, description, at }
  if (amountMinor <= account.balanceMinor) return accept({ type: 'WalletAccountDebited', data })
  // A repeated refusal is recorded once, so that retries do not lengthen the stream.
  return before?.amountMinor === amountMinor ? accept() : accept({ type: 'WalletDebitRefused', data })
}

function evolve(state: WalletAccountState, event: WalletAccountEvent): WalletAccountState {
  if (event.type === 'WalletAccountOpened') {
    const { at, ...data } = event.data
    return { ...data, balanceMinor: 0n, movement: undefined, trustedDevices: [], openedAt: at }
  }
  if (state.accountNumber === null) throw new Error('a wallet account changed before it was opened')
  const { balanceMinor, movement: previous, trustedDevices } = state
  switch (event.type) {
    case 'WalletAccountCredited': {
      const { reference: key, amountMinor, at } = event.data
      const movement = { kind: 'credit', key, amountMinor, description: null, at, previous } as const
      return { ...state, balanceMinor: balanceMinor + amountMinor, movement }
    }
    case 'WalletAccountDebited':
    case 'WalletDebitRefused': {
      const { trackingId: key, amountMinor, description, at } = event.data
      const isTaken = event.type === 'WalletAccountDebited'
      const kind = isTaken ? 'debit' : 'refused debit'
      const movement = { kind, key, amountMinor, description, at, previous } as const
      return { ...state, balanceMinor: isTaken ? balanceMinor - amountMinor : balanceMinor, movement }
    }
    case 'WalletContactResealed': {
      const { email, phone } = event.data
      return { ...state, email, phone }
    }
    case 'WalletDeviceTrusted':
      return { ...state, trustedDevices: [...trustedDevices, event.data.device].slice(-maxTrustedDevices) }
    default:
      return event satisfies never
  }
}

/** Reserves an email for an account in the email's own stream, so that no two accounts have the same one. A free email has a null number. */
export const walletEmailReservation: Folded<
  { readonly accountNumber: number | null },
  EventsOf<typeof walletEmailEvents>
> = { initialState: { accountNumber: null }, evolve: (_state, { data }) => data }
