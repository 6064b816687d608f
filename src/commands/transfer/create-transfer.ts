import { hash as digest } from 'node:crypto'
import { refuse } from '../../domain/decider.js'
import { formatShortest } from '../../domain/money.js'
import { hashStream, transferStream } from '../../domain/streams.js'
import type { TransferState } from '../../domain/transfer/transfer.js'
import type { CreateDeposit, CreateWithdrawal } from '../../domain/transfer/transfer-commands.js'
import { transferDecider } from '../../domain/transfer/transfer-decider.js'
import type { TransferEvent } from '../../domain/transfer/transfer-events.js'
import { encodeEvent } from '../../event-store/event-codec.js'
import {
  type Append,
  type EventStore,
  KeyReservedError,
  reservationIn,
  WrongExpectedRevisionError,
} from '../../event-store/event-store.js'
import { readEvent } from '../../event-store/read-event.js'
import {
  type CommandContext,
  type CommandResult,
  emptyStream,
  handleCommand,
  type Loaded,
  loadStream,
} from '../handle-command.js'
import { derivedEventId, uuidV5 } from '../ids.js'

/**
 * Ensures that a hashCode stands for exactly one kind, amount and referenceId of a merchant (docs/decisions/0017-hash-uniqueness.md). The
 * hashed text has no delimiter and names no kind: the hash of 1 with reference `23` is that of 12 with `3`, and of a withdrawal. A
 * referenceId is any printable text, so that 1 with `2.3` also has the hash of 12 with `.3`. Each transfer reserves its texts,
 * `<amount text><referenceId>`, and not its hashes, because a rotation of the SecretKey changes every hash.
 */

export type CreateCommand = CreateDeposit | CreateWithdrawal

/** A request's hashCode and the amount text that it was calculated from. */
export type RequestHash = { readonly hashCode: string; readonly amountText: string }
const reused = refuse('conflict', 'hash-reused')

/**
 * Creates the transfer unless a different one has reserved one of its hashed texts. A new request expects that neither its texts nor its
 * transfer exist, so it reads nothing; only a conflict reads. A repeat appends nothing, unless it is the first in its form of the amount.
 * @throws StoreUnavailableError, TooMuchContentionError, UnreadableEventError
 */
export async function createWithUniqueHash(
  store: EventStore,
  command: CreateCommand,
  /** The amount text of the request's hashCode; `undefined` if it has none. */
  hashedAmountText: string | undefined,
  context: CommandContext,
): Promise<CommandResult<TransferState, TransferEvent>> {
  const { merchantId, referenceId, amountMinor, trackingId } = command
  // Callbacks are hashed with the shortest form.
  const shortest = formatShortest(amountMinor)
  const isOther = hashedAmountText !== undefined && hashedAmountText !== shortest
  const amountTexts = isOther ? [shortest, hashedAmountText] : [shortest]
  const reserves = amountTexts.map((amountText) => keyOf(merchantId, amountText + referenceId))
  const stream = transferStream(trackingId)
  const appendsBefore = () => amountTexts.map((amountText) => laterReservation(command, amountText, context))
  const handle = (loaded: Loaded<TransferState>) =>
    handleCommand(store, transferDecider, stream, command, context, { loaded, reserves, appendsBefore })
  let result: CommandResult<TransferState, TransferEvent>
  try {
    result = await handle(emptyStream(transferDecider))
  } catch (error) {
    if (!(error instanceof KeyReservedError)) throw error
    // EventStoreDB reserves keys before it looks at the stream, so a rejected create can have the keys of a transfer that moved there.
    const own = await loadStream(store, transferDecider, stream)
    if (own.state.kind === 'none') return { ...reused, state: own.state }
    result = await handle(own)
  }
  const isRepeat = result.accepted && result.events.length === 0
  if (!isRepeat) return result
  const [first] = await store.readStream(stream, { maxCount: 1 })
  const { reserves: reserved = [] } = first && !first.isSkipped ? reservationIn(first.metadata) : {}
  const unreserved = amountTexts.filter((_, n) => !reserved.includes(reserves[n]!))
  try {
    await store.appendInOrder(unreserved.map((amountText) => laterReservation(command, amountText, context)))
    return result
  } catch (error) {
    const isReused = error instanceof KeyReservedError || error instanceof WrongExpectedRevisionError
    if (!isReused) throw error
    return { ...reused, state: result.state }
  }
}

/**
 * Returns the append that reserves a text for a transfer whose first event does not name it: a repeat has a new form of the amount, or that
 * event was skipped and the transfer is created again. The hash is accepted, so it must not create a different transfer later.
 */
function laterReservation(command: CreateCommand, amountText: string, context: CommandContext): Append {
  const { merchantId, referenceId, trackingId, at } = command
  const text = amountText + referenceId
  const kind = command.type === 'CreateDeposit' ? 'deposit' : 'withdrawal'
  const data = { merchantId, kind, referenceId, amountTexts: [amountText], at } as const
  const event = encodeEvent({ type: 'HashCodeSeen', data }, context, derivedEventId(trackingId, text))
  const stream = hashStream(uuidV5(text, merchantId))
  const reserves = [keyOf(merchantId, text)]
  const reservedFor = transferStream(trackingId)
  return { stream, expectedRevision: 'no_stream', events: [event], reserves, reservedFor }
}

/** Returns the key of a hashed text: 132 bits of a digest. A merchant's id has a fixed length, so no two pairs have the same input. */
export function keyOf(merchantId: string, text: string): string {
  return digest('sha256', merchantId + text, 'base64url').slice(0, keyLength)
}
const keyLength = 22

/** Returns whether the transfer was created by a request with this hashCode. @throws StoreUnavailableError, UnreadableEventError */
export async function wasCreatedWithHash(
  store: EventStore,
  { merchantId, trackingId }: { readonly merchantId: string; readonly trackingId: string },
  hashCode: string,
): Promise<boolean> {
  return (await creationHashId(store, trackingId)) === hashIdOf(merchantId, hashCode)
}

/** Returns `null` if the transfer was created without a hashCode, and `undefined` if it does not exist. */
async function creationHashId(store: EventStore, trackingId: string): Promise<string | null | undefined> {
  const events = await store.readStream(transferStream(trackingId))
  const created = events.map(readEvent).find((event) => event !== undefined)
  const isCreation = created?.type === 'DepositCreated' || created?.type === 'WithdrawalCreated'
  return isCreation ? created.data.hashId : undefined
}

/** Returns the digest that a creation records in place of the hashCode, so that no event contains a hashCode. */
export function hashIdOf(merchantId: string, hashCode: string): string {
  return uuidV5(`hashCode:${hashCode.toUpperCase()}`, merchantId)
}
