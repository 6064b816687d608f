import { callbackDecider } from '../../domain/callback/callback-decider.js'
import { callbackStream, paymentStream, transferStream, walletAccountStream } from '../../domain/streams.js'
import { isTerminal, needsAttention } from '../../domain/transfer/transfer.js'
import { transferDecider } from '../../domain/transfer/transfer-decider.js'
import { UnreadableEventError } from '../../event-store/event-codec.js'
import { type EventStore, formatPosition } from '../../event-store/event-store.js'
import { readableEvent } from '../../event-store/read-event.js'
import { inOrder, type PlacedEntry, type StoryEntry, storyEntries, toldEntry } from '../../queries/transfer-history.js'
import { merchantEntries } from './merchant-changes.js'
import { type Moment, wasThere } from './point-in-time.js'
import { foldAt } from './transfer-state.js'

type Store = Pick<EventStore, 'readStream'>
type Source = StoryEntry['source'] | 'wallet' | 'merchant'

/** One thing that happened to a transfer, or to its merchant and bore on it. */
export interface AuditStoryEntry extends Omit<StoryEntry, 'source'> {
  readonly source: Source
  readonly stream: string
  /** As `formatPosition` prints it. */
  readonly position: string
  /** By the log's clock. */
  readonly recordedAt: string
}

const ofWallets = ['accountNumber', 'amountMinor', 'description']

/**
 * The whole story of a transfer, in the order of the log: its own events, how it was paid, what the wallet's accounts and the merchant's
 * endpoint had to do with it, and what was set, given and changed at the merchant that bore on it. Undefined when it was not there then.
 * @throws StoreUnavailableError
 */
export async function auditStory(
  store: Store,
  trackingId: string,
  moment: Moment | undefined,
): Promise<readonly AuditStoryEntry[] | undefined> {
  const own = thereThen(await storyEntries(store, trackingId, { showsAccounts: true, unread: 'tell' }), moment)
  const created = inOrder(own).find(({ recorded }) => recorded.stream === transferStream(trackingId))
  if (!created) return undefined
  const { merchantId } = created.recorded.data
  const entries: PlacedEntry<Source>[] = [...own, ...thereThen(await walletEntries(store, trackingId), moment)]
  if (typeof merchantId === 'string') {
    const last = inOrder(entries).at(-1)!.recorded.position
    const span = { from: created.recorded.position, ...((await isOver(store, trackingId, moment)) && { to: last }) }
    entries.push(...thereThen(await merchantEntries(store, merchantId, span), moment))
  }
  return inOrder(entries).map(shownEntry)
}

function thereThen<Entry extends PlacedEntry<Source>>(entries: readonly Entry[], moment: Moment | undefined): Entry[] {
  return entries.filter(({ recorded }) => wasThere(recorded, moment))
}

function shownEntry({ recorded, shown }: PlacedEntry<Source>): AuditStoryEntry {
  const { stream, position, recordedAtMs } = recorded
  return { ...shown, stream, position: formatPosition(position), recordedAt: new Date(recordedAtMs).toISOString() }
}

/** What the built-in wallet has of it, in the accounts that the customer has logged in with. */
async function walletEntries(store: Store, trackingId: string): Promise<PlacedEntry<'wallet'>[]> {
  const accounts = new Set(
    (await store.readStream(paymentStream(trackingId))).flatMap((recorded) => {
      const data = readableEvent(recorded)?.data
      return data && 'accountNumber' in data && typeof data.accountNumber === 'number' ? [data.accountNumber] : []
    }),
  )
  const streams = [...accounts].map((account) => store.readStream(walletAccountStream(account)))
  const events = (await Promise.all(streams)).flat()
  return events
    .filter(({ data }) => data.trackingId === trackingId)
    .map((recorded) => toldEntry('wallet', recorded, () => ofWallets))
}

/** Nothing is expected of it any more: what its merchant changes from here on does not concern it. */
async function isOver(store: Store, trackingId: string, moment: Moment | undefined): Promise<boolean> {
  try {
    const { state: transfer } = await foldAt(store, transferDecider, transferStream(trackingId), moment)
    if (transfer.kind === 'none' || !isTerminal(transfer.status) || needsAttention(transfer)) return false
    const { state: lane } = await foldAt(store, callbackDecider, callbackStream(trackingId), moment)
    return lane.deliveries.every(({ status }) => status === 'delivered')
  } catch (error) {
    // A person has to look at it still, and the story says at what.
    if (error instanceof UnreadableEventError) return false
    throw error
  }
}
