import { streamPrefix } from '../domain/streams.js'
import { evolve, initialState } from '../domain/transfer/transfer.js'
import type { TransferEvent } from '../domain/transfer/transfer-events.js'
import {
  collections,
  feedId,
  indexes,
  sortablePosition,
  type TransferDocument,
  type TransferEventDocument,
  type TransferTermDocument,
} from '../read-models/documents.js'
import type { Document, WriteOperation } from '../read-models/read-models.js'
import {
  documentOf,
  methodTerm,
  termKey,
  termsPrefix,
  textTerm,
  textTermsOf,
  transferOf,
} from '../read-models/transfer-document.js'
import { type EventProjection, foldedDocuments, type ProjectedEvent } from './projection.js'

/** The current state of every transfer. */
export const transfersProjection: EventProjection = {
  name: 'transfers',
  version: 6,
  streamPrefixes: [streamPrefix.transfer],
  collection: collections.transfers,
  indexes: indexes.transfers,
  ...foldedDocuments<TransferDocument, 'revision'>({
    progressField: 'revision',
    idsOf: ({ event }) => [(event as TransferEvent).data.trackingId],
    isFirst: ({ previous }) => previous < 0,
    next,
  }),
}

/** The domain's own fold, so that a document never contradicts the log. */
function next(before: TransferDocument | undefined, projected: ProjectedEvent): TransferDocument {
  const { revision, previous } = projected
  const event = projected.event as TransferEvent
  if ((before?.revision ?? -1) < previous) {
    const found = before ? `at revision ${before.revision}` : 'missing'
    throw new Error(`event ${revision} of transfer ${event.data.trackingId}, whose document is ${found}`)
  }
  const after = evolve(before ? transferOf(before) : initialState, event)
  if (after.kind === 'none') throw new Error('its event created no transfer')
  const completedAt = event.type === 'TransferCompleted' ? event.data.at : before?.completedAt
  const position = before?.position ?? sortablePosition(projected.position)
  return { ...documentOf(after, position, revision), ...(completedAt !== undefined && { completedAt }) }
}

/** The merchants' feeds: the place of every event of every transfer, in the order of the log. */
export const transferEventsProjection: EventProjection = {
  name: 'transfer-events',
  version: 4,
  streamPrefixes: [streamPrefix.transfer],
  collection: collections.transferEvents,
  indexes: indexes.transferEvents,

  // An entry never changes, so a repeated event must not change it either.
  apply(batch) {
    return batch.map((projected) => {
      const entry = entryOf(projected)
      const filter = { _id: entry._id, trackingId: { $exists: false } }
      return { replaceOne: { filter, replacement: entry, upsert: true } }
    })
  },
}

function entryOf({ revision, position, event }: ProjectedEvent): TransferEventDocument {
  const { merchantId, trackingId } = (event as TransferEvent).data
  const prepare = position.prepare === position.commit ? {} : { prepare: String(position.prepare) }
  return { _id: feedId(position), merchantId, trackingId, revision, ...prepare }
}

/** The terms by which each transfer can be found. */
export const transferTermsProjection: EventProjection = {
  name: 'transfer-terms',
  version: 3,
  streamPrefixes: [streamPrefix.transfer],
  collection: collections.transferTerms,
  indexes: indexes.transferTerms,
  isSortedBeforeWriting: true,

  needs(batch) {
    return batch.flatMap(({ event }) => (event.type === 'PersonalDataErased' ? [methodIdOf(event.data)] : []))
  },

  // The id holds everything, so a repeated write changes nothing.
  apply(batch, documents) {
    // One batch can create a transfer and erase its customer.
    const known = new Map(documents)
    return batch.flatMap(({ event }) => {
      const transferEvent = event as TransferEvent
      if (transferEvent.type === 'PersonalDataErased') return erased(transferEvent.data, known)
      if (transferEvent.type !== 'DepositCreated' && transferEvent.type !== 'WithdrawalCreated') return []
      const created = documentsOf(transferEvent.data)
      known.set(created[0]!._id, created[0]!)
      return created.map(stored)
    })
  },
}

type Created = Extract<TransferEvent, { type: 'DepositCreated' | 'WithdrawalCreated' }>['data']
type Erased = Extract<TransferEvent, { type: 'PersonalDataErased' }>['data']
type Named = Pick<Erased, 'merchantId' | 'kind' | 'trackingId' | 'createdAt'>

/** The first document is the payment method's, which lists the others so that an erasure finds them. */
function documentsOf(data: Created): readonly [TransferTermDocument, ...TransferTermDocument[]] {
  const { merchantId, kind, at, trackingId } = data
  const begin = termsPrefix(merchantId, kind)
  const place = termKey('', at, trackingId)
  const terms = textTermsOf(data)
  const ofReference = textTerm(data.referenceId)
  const personal = terms.filter((term) => term !== ofReference)
  return [
    { _id: begin + methodTerm(data.paymentMethod) + place, personal },
    ...terms.map((term) => ({ _id: begin + term + place })),
  ]
}

function erased(data: Erased, known: ReadonlyMap<string, Document>): readonly WriteOperation[] {
  const ofMethod = known.get(methodIdOf(data)) as TransferTermDocument | undefined
  if (!ofMethod) return []
  const deleted = (ofMethod.personal ?? []).map((term) => ({ deleteOne: { filter: { _id: idOf(data, term) } } }))
  return [...deleted, stored({ _id: ofMethod._id, personal: [] })]
}

function stored(replacement: TransferTermDocument): WriteOperation {
  return { replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true } }
}

function methodIdOf(data: Named & { readonly paymentMethod: number }): string {
  return idOf(data, methodTerm(data.paymentMethod))
}

function idOf({ merchantId, kind, createdAt, trackingId }: Named, term: string): string {
  return termsPrefix(merchantId, kind) + termKey(term, createdAt, trackingId)
}
