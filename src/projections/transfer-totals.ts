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
import type { WriteOperation } from '../read-models/read-models.js'
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
      const position = sortablePosition(projected.position)
      for (const { ids, figure } of countedIn(projected)) {
        let found = totals.get(ids)
        if (!found) {
          found = ids.map((id) => byId.get(id) ?? new Total(id, projected, figure, documents.get(id) as TotalDocument))
          for (const total of found) byId.set(total.id, total)
          totals.set(ids, found)
        }
        for (const total of found) total.count(figure, position)
      }
    }
    return [...byId.values()].flatMap((total) => total.writes())
  },
}

/** A document that is changed in place, because every event changes about six of them. */
class Total {
  #isChanged = false
  #count: number
  #amountMinor: number
  #transactionAmountMinor: number
  #position: number
  readonly #isStored: boolean
  readonly #kind: TransferKind
  readonly #counted: Counted

  constructor(
    readonly id: string,
    { event }: ProjectedEvent,
    { counted }: Figure,
    stored: TotalDocument | undefined,
  ) {
    this.#kind = (event as TransferEvent).data.kind
    this.#counted = counted
    this.#isStored = stored !== undefined
    this.#count = stored?.count ?? 0
    this.#amountMinor = stored?.amountMinor ?? 0
    this.#transactionAmountMinor = stored?.transactionAmountMinor ?? 0
    this.#position = stored?.position ?? -1
  }

  /** Counts a repeated event only once. */
  count({ amountMinor, transactionAmountMinor }: Figure, position: number): void {
    if (position <= this.#position) return
    this.#isChanged = true
    this.#position = position
    this.#count += 1
    this.#amountMinor += Number(amountMinor)
    this.#transactionAmountMinor += Number(transactionAmountMinor)
  }

  writes(): WriteOperation[] {
    if (!this.#isChanged) return []
    const replacement: TotalDocument = {
      _id: this.id,
      kind: this.#kind,
      counted: this.#counted,
      count: this.#count,
      amountMinor: this.#amountMinor,
      transactionAmountMinor: this.#transactionAmountMinor,
      position: this.#position,
    }
    const filter = { _id: this.id, position: { $lt: this.#position } }
    return [{ replaceOne: { filter, replacement, ...(!this.#isStored && { upsert: true }) } }]
  }
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
