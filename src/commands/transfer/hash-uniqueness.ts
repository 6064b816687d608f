import { formatShortest, parseAmount } from '../../domain/money.js'
import { hashStream, transferStream } from '../../domain/streams.js'
import type { TransferState } from '../../domain/transfer/transfer.js'
import type { CreateDeposit, CreateWithdrawal } from '../../domain/transfer/transfer-commands.js'
import { transferDecider } from '../../domain/transfer/transfer-decider.js'
import type { TransferEvent, TransferKind } from '../../domain/transfer/transfer-events.js'
import type { EventData } from '../../event-store/event-codec.js'
import { type EventStore, WrongExpectedRevisionError } from '../../event-store/event-store.js'
import { readEvent } from '../../event-store/read-event.js'
import { accept, type Decider, refuse } from '../../kernel/rules.js'
import {
  type CommandContext,
  type CommandResult,
  emptyStream,
  type HandleOptions,
  handleCommand,
  type Loaded,
  loadStream,
} from '../handle-command.js'
import { trackingIdOf, uuidV5 } from '../ids.js'

/**
 * Ensures that a hashCode stands for exactly one kind, amount and referenceId of a merchant (docs/decisions/0017-hash-uniqueness.md). The
 * hashed text has no delimiter and names no kind: the hash of 1 with reference `23` is that of 12 with `3`, and of a withdrawal. A
 * referenceId is any printable text, so that 1 with `2.3` also has the hash of 12 with `.3`. The check compares texts,
 * `<amount text><referenceId>`, because a rotation of the SecretKey changes every hash.
 */

export type CreateCommand = CreateDeposit | CreateWithdrawal

const kinds: readonly TransferKind[] = ['deposit', 'withdrawal']
const kindOf = ({ type }: CreateCommand): TransferKind => (type === 'CreateDeposit' ? 'deposit' : 'withdrawal')

/** A request's hashCode and the amount text that it was calculated from. */
export type RequestHash = { readonly hashCode: string; readonly amountText: string }
const reused = refuse('conflict', 'hash-reused')

/**
 * Creates the transfer unless one of its hashes stands for a different one. The embedded log checks this in the transaction of the append.
 * EventStoreDB appends to one stream at a time. There, the request first reads the transfers, because some may have no claims, and then
 * claims its texts. A repeat appends nothing. @throws StoreUnavailableError, TooMuchContentionError, UnreadableEventError
 */
export async function createWithUniqueHash(
  store: EventStore,
  command: CreateCommand,
  hash: RequestHash | undefined,
  context: CommandContext,
): Promise<CommandResult<TransferState, TransferEvent>> {
  const request = hash ? { ...command, hashId: hashIdOf(command.merchantId, hash.hashCode) } : command
  const stream = transferStream(request.trackingId)
  const create = (options: HandleOptions<TransferState>) =>
    handleCommand(store, transferDecider, stream, request, context, options)
  const texts = hashedTexts(request, hash)
  let rivals = rivalStreams(request, texts)

  if (!store.appendsInOneTransaction) {
    const { own, isReused } = await readRivals(store, request, texts, rivals)
    if (isReused) return { ...reused, state: own.state }
    if (own.state.kind === 'none' && !(await claimTexts(store, request, texts, context))) {
      return { ...reused, state: own.state }
    }
    return create({ loaded: own })
  }
  for (;;) {
    try {
      return await create({ loaded: emptyStream(transferDecider), missingStreams: rivals })
    } catch (error) {
      if (!(error instanceof WrongExpectedRevisionError) || !rivals.includes(error.stream)) throw error
      const { own, isReused, existing } = await readRivals(store, request, texts, rivals)
      if (isReused) return { ...reused, state: own.state }
      if (own.state.kind !== 'none') return create({ loaded: own })
      // A transfer never changes its amount, so those that exist with a different one need no second check.
      rivals = rivals.filter((each) => !existing.has(each))
    }
  }
}

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

/** Returns the texts in the hashes of a request: with the shortest amount, as in callbacks, and with the amount text of its hashCode. */
function hashedTexts({ amountMinor, referenceId }: CreateCommand, hash: RequestHash | undefined): readonly string[] {
  const amounts = new Set([formatShortest(amountMinor), ...(hash ? [hash.amountText] : [])])
  return [...amounts].map((amountText) => amountText + referenceId)
}

const longestAmount = /^(?:0|[1-9]\d{0,11})(?:\.\d{1,2})?/

/** Returns every referenceId that a hashed text may end with: `12.3` is 1 with `2.3`, and 12 with `.3`. Some may follow an amount of zero. */
export function referenceIdsIn(text: string): readonly string[] {
  const amount = longestAmount.exec(text)?.[0] ?? ''
  const found: string[] = []
  for (let length = 1; length <= amount.length && length < text.length; length++) {
    if (amount[length - 1] !== '.') found.push(text.slice(length))
  }
  return found
}

/** Returns the streams of all transfers that the texts may stand for, except the request's own. */
function rivalStreams(create: CreateCommand, texts: readonly string[]): readonly string[] {
  const streams: string[] = []
  for (const referenceId of new Set(texts.flatMap(referenceIdsIn))) {
    for (const kind of kinds) {
      if (kind !== kindOf(create) || referenceId !== create.referenceId)
        streams.push(transferStream(trackingIdOf(create.merchantId, kind, referenceId)))
    }
  }
  return streams
}

/** Returns the request's own transfer, the rivals' streams that exist, and whether the hash stands for a different transfer. */
async function readRivals(
  store: EventStore,
  request: CreateCommand,
  texts: readonly string[],
  rivals: readonly string[],
) {
  const load = (stream: string) => loadStream(store, transferDecider, stream)
  const [own, ...others] = await Promise.all([load(transferStream(request.trackingId)), ...rivals.map(load)])
  const existing = new Set(rivals.filter((_, index) => others[index]?.revision !== 'no_stream'))
  const isAmbiguous = others.some(
    ({ state }) => state.kind !== 'none' && texts.some((text) => isHashedText(text, state)),
  )
  const isOwnHash = async ({ state }: Loaded<TransferState>) => {
    if (state.kind === 'none' || state.amountMinor !== request.amountMinor) return false
    // A rival that was created later may spell one of the same texts, but the shortest text and the first hash stay with the transfer.
    return texts.length === 1 || (await creationHashId(store, state.trackingId)) === request.hashId
  }
  return { own: own!, existing, isReused: isAmbiguous && !(await isOwnHash(own!)) }
}

/** Returns whether the text is the transfer's amount, in any spelling, followed by its referenceId. */
function isHashedText(text: string, { referenceId, amountMinor }: Exclude<TransferState, { kind: 'none' }>): boolean {
  return text.endsWith(referenceId) && parseAmount(text.slice(0, -referenceId.length)) === amountMinor
}

type TextClaim = EventData<'HashCodeSeen'>
type TextClaimed = { readonly type: 'HashCodeSeen'; readonly data: TextClaim }

/** The stream of a text belongs to the first request that claims it, forever. */
const textClaimDecider: Decider<TextClaim | null, TextClaim, TextClaimed> = {
  initialState: null,
  decide(claim, claimed) {
    if (claimed === null) return accept({ type: 'HashCodeSeen', data: claim })
    return claim.kind === claimed.kind && claim.referenceId === claimed.referenceId ? accept() : reused
  },
  evolve: (_, { data }) => data,
}

/** Claims every text for the request and returns `false` if another request has claimed one of them. */
async function claimTexts(
  store: EventStore,
  create: CreateCommand,
  texts: readonly string[],
  context: CommandContext,
): Promise<boolean> {
  const { merchantId, referenceId, at } = create
  for (const text of texts) {
    const stream = hashStream(uuidV5(`request:${text}`, merchantId))
    const claim = {
      merchantId,
      kind: kindOf(create),
      amountText: text.slice(0, -referenceId.length),
      referenceId,
      at,
    } as const
    const options = { loaded: emptyStream(textClaimDecider) }
    const result = await handleCommand(store, textClaimDecider, stream, claim, context, options)
    if (!result.accepted) return false
  }
  return true
}
