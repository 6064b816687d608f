import type { TransferCommands } from '../commands/transfer/transfers.js'
import { maxReferenceIdLength } from '../domain/fields.js'
import type { ReadModels } from '../read-models/read-models.js'
import { listByReferenceId, transfersByIdPrefix } from './transfer-queries.js'

export interface Found {
  readonly type: 'transfer' | 'merchant' | 'user'
  readonly id: string
  readonly title: string
  readonly subtitle: string
}

interface Named {
  readonly id: string
  readonly name: string
  /** Another text by which it is found and distinguished. */
  readonly also: string
}

interface Sources {
  readonly transfers: Pick<TransferCommands, 'find'>
  readonly readModels: ReadModels
  /** The merchants and users that the viewer is allowed to see. */
  readonly merchants: readonly Named[]
  readonly users: readonly Named[]
}

export const maxFound = 10
/** Shorter prefixes of ids match too many transfers. */
const idPrefix = /^[0-9a-f]{8}[0-9a-f-]{0,28}$/
/** Includes transfers of other merchants with the same prefix. */
const maxRead = 50

/**
 * Finds transfers by a prefix of their trackingId (8 digits or more) or by referenceId, and merchants and users by a prefix of a word of
 * their name or of their other text. Returns at most {@link maxFound}. @throws ReadModelsUnavailableError, StoreUnavailableError
 */
export async function search(sources: Sources, given: string): Promise<readonly Found[]> {
  const text = given.trim()
  if (text === '') return []
  const found = [
    ...(await transfersFor(sources, text)),
    ...named('merchant', sources.merchants, text),
    ...named('user', sources.users, text),
  ]
  return found.slice(0, maxFound)
}

async function transfersFor({ transfers, readModels, merchants }: Sources, text: string): Promise<Found[]> {
  const merchantIds = merchants.map(({ id }) => id)
  const start = text.toLowerCase()
  const byId = idPrefix.test(start) ? await transfersByIdPrefix(readModels, start, maxRead) : []
  const own = byId.filter(({ merchantId }) => merchantIds.includes(merchantId))
  const found = new Map(own.map(({ _id, referenceId }) => [_id, referenceId]))
  if (Array.from(text).length <= maxReferenceIdLength) {
    const anything = { status: undefined, kind: undefined, from: undefined, to: undefined, cursor: undefined }
    const page = await listByReferenceId(transfers, merchantIds, text, { ...anything, limit: maxFound })
    for (const { transfer } of page.items) found.set(transfer.trackingId, transfer.referenceId)
  }
  return [...found].map(([id, title]) => ({ type: 'transfer', id, title, subtitle: id }))
}

function named(type: 'merchant' | 'user', all: readonly Named[], text: string): Found[] {
  const start = folded(text)
  const matches = (name: string) => name.startsWith(start) || name.split(/\s+/).some((word) => word.startsWith(start))
  return all
    .filter(({ name, also }) => matches(folded(name)) || folded(also).startsWith(start))
    .map(({ id, name, also }) => ({ type, id, title: name, subtitle: also }))
}

/** Returns lower-case letters without marks, and the same letter for all four kinds of I in Turkish. */
function folded(text: string): string {
  return text.toLowerCase().normalize('NFD').replaceAll(/\p{M}/gu, '').replaceAll('ı', 'i')
}
