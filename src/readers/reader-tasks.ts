import { type ExportQuery, exportPages, headOf, measuredExport } from '../audit/history/export.js'
import { actionsPage } from '../audit/history/records.js'
import { CallbackCommands } from '../commands/callback/callback-commands.js'
import type { MerchantDirectory } from '../commands/merchant/merchant-directory.js'
import type { EventStore } from '../event-store/event-store.js'
import type { CsvReader } from '../kernel/csv.js'
import { systemClock } from '../kernel/time.js'
import { listCallbacks, listParkedSince } from '../queries/callback-queries.js'
import { endpointHealth, failingSinceOf } from '../queries/endpoint-queries.js'
import { listFeed } from '../queries/feed.js'
import {
  bucketsOf,
  comparison,
  countOpen,
  type OverviewRange,
  oldestPending,
  timeToCompletion,
} from '../queries/overview.js'
import { changesOf } from '../queries/recent-changes.js'
import { search } from '../queries/search.js'
import { stateAsOf } from '../queries/state-as-of.js'
import { statementOf } from '../queries/statement.js'
import { countWaiting, stuckTransfers } from '../queries/stuck.js'
import { auditedHistory } from '../queries/transfer-history.js'
import { listTransfers } from '../queries/transfer-queries.js'
import { listByMetadata, searchTransfers, sumTransfers, type TransferSearch } from '../queries/transfer-search.js'
import type { ReadModels } from '../read-models/read-models.js'
import { withoutMetadata } from '../read-models/transfer-document.js'
import { type TransferNames, transfersCsv } from './transfers-csv.js'

export interface ReaderSources {
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly merchants: Pick<MerchantDirectory, 'all' | 'byId' | 'catchUp'>
}

/** The queries that end after a limited number of rows. */
export const pages = {
  transfers: transferPage,
  transfersSum: sumTransfers,
  ownTransfers: listTransfers,
  ownByMetadata: listByMetadata,
  callbacks: listCallbacks,
  parkedSince: listParkedSince,
  feed: listFeed,
  statement: statementOf,
  overview,
  open,
  endpoints,
  stuck: stuckTransfers,
  changes: changesOf,
  search,
  story: auditedHistory,
  state: stateAsOf,
  actions: actionsPage,
}

/** The queries of a whole log. */
export const walks = { state: stateAsOf, manifest: measuredExport }

/** The files, a page per text. The text is empty if no line of the page matches. */
export const files = { transfers: transfersFile, events: eventsFile }

/** Without metadata, which can have twenty times the size of the rest of a transfer, in both threads. */
async function transferPage(sources: ReaderSources, query: TransferSearch) {
  const { items, nextCursor } = await searchTransfers(sources, query)
  return { items: items.map(withoutMetadata), nextCursor }
}

interface OfMerchants {
  /** `undefined` for all merchants. */
  readonly merchantIds?: readonly string[] | undefined
}

async function overview(sources: ReaderSources, { now, ...range }: OverviewRange & { readonly now: string }) {
  const { readModels } = sources
  const { merchantIds } = range
  return {
    ...(await bucketsOf(readModels, range)),
    compared: await comparison(readModels, range, now),
    ...(await countOpen(readModels, merchantIds)),
    ...(await countWaiting(sources, { merchantIds, now })),
    timeToCompletion: await timeToCompletion(readModels, range),
    oldestPending: await oldestPending(readModels, merchantIds),
    failingEndpoints: await failingEndpoints(sources, merchantIds),
  }
}

async function open(sources: ReaderSources, { merchantIds }: OfMerchants) {
  return {
    ...(await countOpen(sources.readModels, merchantIds)),
    failingEndpoints: await failingEndpoints(sources, merchantIds),
  }
}

async function endpoints(sources: ReaderSources, { merchantIds }: { readonly merchantIds: readonly string[] }) {
  const parts = { callbacks: callbacksOf(sources), readModels: sources.readModels }
  const found = new Map<string, Awaited<ReturnType<typeof endpointHealth>>>()
  for (const id of merchantIds) {
    const merchant = sources.merchants.byId(id)
    if (merchant) found.set(id, await endpointHealth(parts, merchant))
  }
  return found
}

/** Counts the endpoints whose attempts fail. A disabled endpoint receives none. */
async function failingEndpoints(sources: ReaderSources, merchantIds: OfMerchants['merchantIds']): Promise<number> {
  const parts = { callbacks: callbacksOf(sources), readModels: sources.readModels }
  let count = 0
  for (const id of merchantIds ?? sources.merchants.all().map(({ merchantId }) => merchantId)) {
    if ((sources.merchants.byId(id)?.callbacksDisabled ?? null) !== null) continue
    if ((await failingSinceOf(parts, id)).failingSince !== null) count++
  }
  return count
}

function callbacksOf({ store }: ReaderSources): CallbackCommands {
  return new CallbackCommands(store, systemClock())
}

/** The page of a file is in memory as documents, text and bytes: 6 MB if every transfer has the most metadata. */
const filePageSize = 100

interface TransfersFile extends Pick<TransferNames, 'currency' | 'paymentMethods'> {
  readonly search: Omit<TransferSearch, 'limit' | 'cursor'>
  readonly reader: CsvReader
}

function transfersFile(sources: ReaderSources, { search, reader, ...catalogue }: TransfersFile) {
  const merchantName = (id: string) => sources.merchants.byId(id)?.settings.name ?? id
  const pageAfter = (cursor: string | undefined) => searchTransfers(sources, { ...search, limit: filePageSize, cursor })
  return transfersCsv(pageAfter, { ...catalogue, merchantName }, reader)
}

async function* eventsFile({ store }: ReaderSources, query: ExportQuery): AsyncGenerator<string> {
  yield headOf(query.format)
  for await (const { lines } of exportPages(store, query)) yield lines.join('')
}
