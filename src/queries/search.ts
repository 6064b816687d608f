import type { TransferCommands } from '../commands/transfer/transfers.js'
import type { ReadModels } from '../read-models/read-models.js'
import { listByReferenceId, transfersThatBegin } from './transfer-queries.js'

/** Something to jump to. */
export interface Found {
  readonly type: 'transfer' | 'merchant' | 'user'
  readonly id: string
  readonly title: string
  readonly subtitle: string
}

interface Named {
  readonly id: string
  readonly name: string
  /** What else it is found by, and told apart by. */
  readonly also: string
}

interface Sources {
  readonly transfers: Pick<TransferCommands, 'find'>
  readonly readModels: ReadModels
  /** Those that the asker may know of. */
  readonly merchants: readonly Named[]
  readonly users: readonly Named[]
}

export const maxFound = 10
/** Shorter beginnings of ids are those of too many transfers. */
const idBeginning = /^[0-9a-f]{8}[0-9a-f-]{0,28}$/
const referenceIdForm = /^[A-Za-z0-9_-]{1,64}$/
/** Others' transfers whose ids begin alike are looked at, too. */
const maxLookedAt = 50

/**
 * Transfers by the beginning of their trackingId (8 digits or more) or by referenceId, merchants and users by the beginning of a name or of
 * a word in it, or of what else they are known by. At most {@link maxFound}. @throws ReadModelsUnavailableError, StoreUnavailableError
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
  const begin = idBeginning.test(start) ? await transfersThatBegin(readModels, start, maxLookedAt) : []
  const own = begin.filter(({ merchantId }) => merchantIds.includes(merchantId))
  const found = new Map(own.map(({ _id, referenceId }) => [_id, referenceId]))
  if (referenceIdForm.test(text)) {
    const whatever = { status: undefined, kind: undefined, from: undefined, to: undefined, cursor: undefined }
    const page = await listByReferenceId(transfers, merchantIds, text, { ...whatever, limit: maxFound })
    for (const { transfer } of page.items) found.set(transfer.trackingId, transfer.referenceId)
  }
  return [...found].map(([id, title]) => ({ type: 'transfer', id, title, subtitle: id }))
}

function named(type: 'merchant' | 'user', all: readonly Named[], text: string): Found[] {
  const start = folded(text)
  const begins = (name: string) => name.startsWith(start) || name.split(/\s+/).some((word) => word.startsWith(start))
  return all
    .filter(({ name, also }) => begins(folded(name)) || folded(also).startsWith(start))
    .map(({ id, name, also }) => ({ type, id, title: name, subtitle: also }))
}

/** Small letters without marks; the four letters I of Turkish are one. */
function folded(text: string): string {
  return text.toLowerCase().normalize('NFD').replaceAll(/\p{M}/gu, '').replaceAll('ı', 'i')
}
