import { formatShortest } from '../../domain/money.js'
import { hashStream, transferStream } from '../../domain/streams.js'
import type { TransferState } from '../../domain/transfer/transfer.js'
import type { CreateDeposit, CreateWithdrawal } from '../../domain/transfer/transfer-commands.js'
import { transferDecider } from '../../domain/transfer/transfer-decider.js'
import type { TransferEvent } from '../../domain/transfer/transfer-events.js'
import { type EventData, encodeEvent } from '../../event-store/event-codec.js'
import { type Append, type EventStore, WrongExpectedRevisionError } from '../../event-store/event-store.js'
import { readEvent } from '../../event-store/read-event.js'
import { type Folded, refuse } from '../../kernel/rules.js'
import {
  type CommandContext,
  type CommandResult,
  emptyStream,
  handleCommand,
  type Loaded,
  loadStream,
  oneAtATime,
  retryOnConflict,
} from '../handle-command.js'
import { uuidV5 } from '../ids.js'

/**
 * Ensures that a hashCode stands for exactly one kind, amount and referenceId of a merchant (docs/decisions/0017-hash-uniqueness.md). The
 * hashed text has no delimiter and names no kind: the hash of 1 with reference `23` is that of 12 with `3`, and of a withdrawal. A
 * referenceId is any printable text, so that 1 with `2.3` also has the hash of 12 with `.3`. Each request claims its texts,
 * `<amount text><referenceId>`, and not its hashes, because a rotation of the SecretKey changes every hash.
 */

export type CreateCommand = CreateDeposit | CreateWithdrawal

/** A request's hashCode and the amount text that it was calculated from. */
export type RequestHash = { readonly hashCode: string; readonly amountText: string }
const reused = refuse('conflict', 'hash-reused')

/** The number of requests that wait while another one reads and extends the same stream of claims. */
const maxWaiting = 1_000
/** Otherwise requests that claim different texts in one stream would conflict with one another until they give up. */
const claiming = oneAtATime(maxWaiting)

/**
 * Creates the transfer unless a different one has claimed one of its hashed texts. A new request expects that neither its claims nor its
 * transfer exist, so it reads nothing; only a conflict reads both streams. EventStoreDB appends the claim first: if the transfer's append is
 * lost, a repeat of the request finds its own claim. A repeat appends nothing, unless it is the first in its form of the amount.
 * @throws StoreUnavailableError, TooMuchContentionError, UnreadableEventError
 */
export async function createWithUniqueHash(
  store: EventStore,
  command: CreateCommand,
  hash: RequestHash | undefined,
  context: CommandContext,
): Promise<CommandResult<TransferState, TransferEvent>> {
  const request = hash ? { ...command, hashId: hashIdOf(command.merchantId, hash.hashCode) } : command
  const { merchantId, referenceId, amountMinor, at } = request
  const kind = request.type === 'CreateDeposit' ? 'deposit' : 'withdrawal'
  const stream = transferStream(request.trackingId)
  // Callbacks are hashed with the shortest form.
  const amountTexts = [...new Set([formatShortest(amountMinor), ...(hash ? [hash.amountText] : [])])]
  const claims = claimsOf({ kind, referenceId, amountTexts })
  const claimStream = claimStreamOf(merchantId, amountTexts[0]! + referenceId)

  const attempt = async (claimed: Loaded<Claimed>, own: Loaded<TransferState>) => {
    const { state, revision } = claimed
    if (state === 'reused') return { ...reused, state: own.state }
    const unclaimed = amountTexts.filter((text) => !state.includes(text))
    const create = (first?: readonly Append[]) =>
      handleCommand(store, transferDecider, stream, request, context, { loaded: own, first })
    if (unclaimed.length === 0) return create()
    const data = { merchantId, kind, referenceId, amountTexts: unclaimed, at } as const
    const claim = { type: 'HashCodeSeen', data } as const
    const first = [{ stream: claimStream, expectedRevision: revision, events: [encodeEvent(claim, context)] }]
    const result = await create(first)
    // A repeat in a new form was accepted, so its hash is known, and must not create a different transfer later.
    if (result.accepted && result.events.length === 0) await store.appendInOrder(first)
    return result
  }
  try {
    return await attempt(emptyStream(claims), emptyStream(transferDecider))
  } catch (error) {
    if (!(error instanceof WrongExpectedRevisionError)) throw error
  }
  return claiming.run(claimStream, () =>
    retryOnConflict(claimStream, async () => {
      const [claimed, own] = await Promise.all([
        loadStream(store, claims, claimStream),
        loadStream(store, transferDecider, stream),
      ])
      return attempt(claimed, own)
    }),
  )
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

/**
 * Returns the stream of all claims that can include the text. It is named by the text without the points and zeros in its leading run of
 * digits and points. An amount consists of digits and points, so the run starts with it, regardless of how a text is split. Spellings of
 * one amount differ only in a point and in zeros. So both texts of a request have one stream, as have any two requests that share a text.
 */
export function claimStreamOf(merchantId: string, text: string): string {
  const key = text.replace(/^[\d.]+/, (run) => run.replaceAll(/[.0]/g, ''))
  return hashStream(uuidV5(`texts:${key}`, merchantId))
}

type Claim = { readonly type: 'HashCodeSeen'; readonly data: EventData<'HashCodeSeen'> }
/** The amount texts that a request has claimed, or `reused` if a different one has claimed one of its texts. */
type Claimed = readonly string[] | 'reused'

/** Folds the claims of a request, because its stream can hold many others. A text belongs to the first claim forever. */
function claimsOf(request: Pick<Claim['data'], 'kind' | 'referenceId' | 'amountTexts'>): Folded<Claimed, Claim> {
  const texts = request.amountTexts.map((amountText) => amountText + request.referenceId)
  return {
    initialState: [],
    evolve(claimed, { data: { kind, referenceId, amountTexts } }) {
      if (claimed === 'reused') return claimed
      if (kind === request.kind && referenceId === request.referenceId) return [...claimed, ...amountTexts]
      return amountTexts.some((amountText) => texts.includes(amountText + referenceId)) ? 'reused' : claimed
    },
  }
}
