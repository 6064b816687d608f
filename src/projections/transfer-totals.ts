import { streamPrefix } from '../domain/streams.js'
import { type Counted, type Figure, figuresOf } from '../domain/transfer/transfer.js'
import type { TransferEvent, TransferKind } from '../domain/transfer/transfer-events.js'
import {
  allMerchants,
  collections,
  indexes,
  quarterOf,
  sortablePosition,
  type TotalDocument,
  totalId,
  totalPeriods,
} from '../read-models/documents.js'
import { type EventProjection, type ProjectedEvent, ProjectionError } from './projection.js'

/** How many transfers reached which status in which quarter of an hour, day and month, and their amounts. */
export const totalsProjection: EventProjection = {
  name: 'totals',
  version: 4,
  streamPrefixes: [streamPrefix.transfer],
  collection: collections.totals,
  indexes: indexes.totals,
  needs(batch) {
    const lists = new Set<readonly string[]>()
    for (const projected of batch) for (const { ids } of countedIn(projected)) lists.add(ids)
    return [...new Set([...lists].flat())]
  },

  /** Writes absolute values instead of `$inc`, because a batch that is repeated with another end would count its start twice. */
  apply(batch, documents) {
    const counted = new Map<readonly string[], CountedTogether>()
    const byId = new Map<string, Total>()
    for (const projected of batch) {
      const { kind } = (projected.event as TransferEvent).data
      const position = sortablePosition(projected.position)
      for (const { ids, figure } of countedIn(projected)) {
        let together = counted.get(ids)
        if (!together) {
          const totals = ids.map((_id) => {
            const stored = documents.get(_id) as TotalDocument | undefined
            return byId.get(_id) ?? { stored, sum: sumOf(stored, { _id, kind, counted: figure.counted }) }
          })
          for (const total of totals) byId.set(total.sum._id, total)
          const through = Math.max(...totals.map(({ stored }) => stored?.position ?? -1))
          together = { totals, through, sum: sumOf(undefined, { _id: '', kind, counted: figure.counted }) }
          counted.set(ids, together)
        }
        if (position > together.through) count(together.sum, figure, position)
        else for (const { sum } of together.totals) count(sum, figure, position)
      }
    }
    for (const { totals, sum } of counted.values())
      for (const total of totals) add(total.sum, sum, sum.count, sum.position)
    return [...byId.values()].flatMap(({ stored, sum }) => {
      const { _id, position } = sum
      if (position === (stored?.position ?? -1)) return []
      const filter = { _id, position: { $lt: position } }
      const replacement = documentOf(sum)
      return [{ replaceOne: { filter, replacement, ...(stored ? { previous: stored } : { upsert: true }) } }]
    })
  },
}

type Amounts = 'amountMinor' | 'transactionAmountMinor' | 'receivedMinor'

/** The figures of a document, changed in place, because every event changes about six of them. */
interface Sum extends Record<Amounts, bigint>, Pick<TotalDocument, '_id' | 'kind' | 'counted'> {
  count: number
  position: number
}

interface Total {
  readonly stored: TotalDocument | undefined
  readonly sum: Sum
}

/** The documents that count the same events. */
interface CountedTogether {
  readonly totals: readonly Total[]
  /** The last event that any of them has counted already. */
  readonly through: number
  /** The sum of the later events, which is added once, because each event would otherwise create a dozen bigints. */
  readonly sum: Sum
}

function sumOf(stored: TotalDocument | undefined, ids: Pick<TotalDocument, '_id' | 'kind' | 'counted'>): Sum {
  const { count = 0, position = -1, amountMinor = 0, transactionAmountMinor = 0, receivedMinor = 0 } = stored ?? {}
  return {
    ...ids,
    count,
    amountMinor: BigInt(amountMinor),
    transactionAmountMinor: BigInt(transactionAmountMinor),
    receivedMinor: BigInt(receivedMinor),
    position,
  }
}

function documentOf({ _id, kind, counted, count, position, ...amounts }: Sum): TotalDocument {
  return {
    _id,
    kind,
    counted,
    count,
    amountMinor: amounts.amountMinor.toString(),
    transactionAmountMinor: amounts.transactionAmountMinor.toString(),
    receivedMinor: amounts.receivedMinor.toString(),
    position,
  }
}

/** Counts a repeated event only once. */
function count(sum: Sum, figure: Figure, position: number): void {
  if (position > sum.position) add(sum, figure, 1, position)
}

function add(
  sum: Sum,
  { amountMinor, transactionAmountMinor, receivedMinor }: Figure,
  events: number,
  through: number,
) {
  sum.position = Math.max(sum.position, through)
  sum.count += events
  sum.amountMinor += amountMinor
  // Each sum of bigints is a new object, and most events move no money.
  if (transactionAmountMinor !== 0n) sum.transactionAmountMinor += transactionAmountMinor
  if (receivedMinor !== 0n) sum.receivedMinor += receivedMinor
}

/** Returns the figures that an event adds, each with the ids of the documents that count it. */
function countedIn(projected: ProjectedEvent): readonly { readonly ids: readonly string[]; readonly figure: Figure }[] {
  const event = projected.event as TransferEvent
  const figures = figuresOf(event)
  if (!figures) throw new ProjectionError(`unexpected event ${event.type}`, projected)
  const { merchantId, kind, at } = event.data
  const quarter = quarterOf(at)
  return figures.map((figure) => ({ ids: idsIn(merchantId, quarter, kind, figure.counted), figure }))
}

const maxCached = 10_000
const cached = new Map<string, readonly string[]>()

/** Returns the same array for all events of a quarter of an hour: creating the texts each time costs a rebuild more than reading the log. */
function idsIn(merchantId: string, quarter: string, kind: TransferKind, counted: Counted): readonly string[] {
  const key = totalId(merchantId, quarter, kind, counted)
  const found = cached.get(key)
  if (found) return found
  const ids = [merchantId, allMerchants].flatMap((merchant) =>
    Object.values(totalPeriods).map((length) => totalId(merchant, quarter.slice(0, length), kind, counted)),
  )
  if (cached.size >= maxCached) cached.clear()
  cached.set(key, ids)
  return ids
}
