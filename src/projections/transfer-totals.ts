import { streamPrefix } from '../domain/streams.js'
import { type Counted, type Figure, figuresOf } from '../domain/transfer/transfer.js'
import type { TransferEvent, TransferKind } from '../domain/transfer/transfer-events.js'
import {
  allMerchants,
  collections,
  indexes,
  sortablePosition,
  type TotalDocument,
  totalId,
  totalPeriods,
} from '../read-models/documents.js'
import { type EventProjection, type ProjectedEvent, ProjectionError } from './projection.js'

/** How many transfers reached which status in which hour, day and month, and their amounts. */
export const totalsProjection: EventProjection = {
  name: 'totals',
  version: 3,
  streamPrefixes: [streamPrefix.transfer],
  collection: collections.totals,
  indexes: indexes.totals,
  needs(batch) {
    const lists = new Set(batch.flatMap((projected) => countedIn(projected).map(({ ids }) => ids)))
    return [...new Set([...lists].flat())]
  },

  /** Writes absolute values instead of `$inc`, because a batch that is repeated with another end would count its start twice. */
  apply(batch, documents) {
    const totals = new Map<readonly string[], readonly Total[]>()
    const byId = new Map<string, Total>()
    for (const projected of batch) {
      const { kind } = (projected.event as TransferEvent).data
      const position = sortablePosition(projected.position)
      for (const { ids, figure } of countedIn(projected)) {
        let found = totals.get(ids)
        if (!found) {
          found = ids.map((_id) => {
            const stored = documents.get(_id) as TotalDocument | undefined
            const none = { count: 0, amountMinor: 0, transactionAmountMinor: 0, position: -1 }
            return byId.get(_id) ?? { stored, sum: { ...(stored ?? { _id, kind, counted: figure.counted, ...none }) } }
          })
          for (const total of found) byId.set(total.sum._id, total)
          totals.set(ids, found)
        }
        for (const total of found) count(total, figure, position)
      }
    }
    return [...byId.values()].flatMap(({ stored, sum }) => {
      const { _id, position } = sum
      if (position === (stored?.position ?? -1)) return []
      const filter = { _id, position: { $lt: position } }
      return [{ replaceOne: { filter, replacement: sum, ...(!stored && { upsert: true }) } }]
    })
  },
}

/** A document that is changed in place, because every event changes about six of them. */
interface Total {
  readonly stored: TotalDocument | undefined
  readonly sum: { -readonly [field in keyof TotalDocument]: TotalDocument[field] }
}

/** Counts a repeated event only once. */
function count({ sum }: Total, { amountMinor, transactionAmountMinor }: Figure, position: number): void {
  if (position <= sum.position) return
  sum.position = position
  sum.count += 1
  sum.amountMinor += Number(amountMinor)
  sum.transactionAmountMinor += Number(transactionAmountMinor)
}

/** Returns the figures that an event adds, each with the ids of the documents that count it. */
function countedIn(projected: ProjectedEvent): readonly { readonly ids: readonly string[]; readonly figure: Figure }[] {
  const event = projected.event as TransferEvent
  const figures = figuresOf(event)
  if (!figures) throw new ProjectionError(`unexpected event ${event.type}`, projected)
  const { merchantId, kind, at } = event.data
  const hour = at.slice(0, totalPeriods.hour)
  return figures.map((figure) => ({ ids: idsIn(merchantId, hour, kind, figure.counted), figure }))
}

const maxCached = 10_000
const cached = new Map<string, readonly string[]>()

/** Returns the same array for all events of an hour: creating the texts each time costs a rebuild more than reading the log. */
function idsIn(merchantId: string, hour: string, kind: TransferKind, counted: Counted): readonly string[] {
  const key = totalId(merchantId, hour, kind, counted)
  const found = cached.get(key)
  if (found) return found
  const ids = [merchantId, allMerchants].flatMap((merchant) =>
    Object.values(totalPeriods).map((length) => totalId(merchant, hour.slice(0, length), kind, counted)),
  )
  if (cached.size >= maxCached) cached.clear()
  cached.set(key, ids)
  return ids
}
