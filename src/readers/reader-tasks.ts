import { type ExportQuery, exportPages, headOf, measuredExport } from '../audit/history/export.js'
import { type ActionsQuery, actionsPage } from '../audit/history/records.js'
import { CallbackCommands } from '../commands/callback/callback-commands.js'
import type { MerchantDirectory } from '../commands/merchant/merchant-directory.js'
import type { EventStore } from '../event-store/event-store.js'
import type { CsvReader } from '../kernel/csv.js'
import { systemClock } from '../kernel/time.js'
import { type CallbackFilter, listCallbacks, listParkedSince } from '../queries/callback-queries.js'
import { endpointHealth, failingSinceOf } from '../queries/endpoint-queries.js'
import { type FeedPage, listFeed } from '../queries/feed.js'
import {
  bucketsOf,
  comparison,
  countOpen,
  type OverviewRange,
  oldestPending,
  timeToCompletion,
} from '../queries/overview.js'
import type { PointInTime } from '../queries/point-in-time.js'
import { changesOf } from '../queries/recent-changes.js'
import { search } from '../queries/search.js'
import { type StateKind, stateAsOf } from '../queries/state-as-of.js'
import { type StatementPeriod, statementOf } from '../queries/statement.js'
import { countWaiting, stuckTransfers } from '../queries/stuck.js'
import { auditedHistory } from '../queries/transfer-history.js'
import { listTransfers, type TransferFilter } from '../queries/transfer-queries.js'
import {
  listByMetadata,
  type MetadataFilter,
  searchTransfers,
  sumTransfers,
  type TransferSearch,
} from '../queries/transfer-search.js'
import type { ReadModels } from '../read-models/read-models.js'
import { withoutMetadata } from '../read-models/transfer-document.js'
import { type TransferNames, transfersCsv } from './transfers-csv.js'

export interface ReaderSources {
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly merchants: Pick<MerchantDirectory, 'all' | 'byId' | 'catchUp'>
}

type MerchantIds = readonly string[] | undefined
type EndpointHealth = Awaited<ReturnType<typeof endpointHealth>>

/** The reads that end after a limited number of rows. */
export const pages = {
  /** Without metadata, which can have twenty times the size of the rest of a transfer, in both threads. */
  transfers: async ({ readModels }: ReaderSources, wanted: TransferSearch) => {
    const { items, nextCursor } = await searchTransfers(readModels, wanted)
    return { items: items.map(withoutMetadata), nextCursor }
  },
  transfersSum: (sources: ReaderSources, wanted: Omit<TransferSearch, 'limit' | 'cursor'>) =>
    sumTransfers(sources.readModels, wanted),
  ownTransfers: ({ readModels }: ReaderSources, merchantId: string, filter: TransferFilter) =>
    listTransfers(readModels, merchantId, filter),
  ownByMetadata: ({ readModels }: ReaderSources, merchantId: string, filter: MetadataFilter) =>
    listByMetadata(readModels, merchantId, filter),
  callbacks: ({ readModels }: ReaderSources, filter: CallbackFilter) => listCallbacks(readModels, filter),
  parkedSince: ({ readModels }: ReaderSources, merchantId: string, since: string, limit: number) =>
    listParkedSince(readModels, merchantId, since, limit),
  feed: (sources: ReaderSources, merchantId: string, page: FeedPage) => listFeed(sources, merchantId, page),
  statement: ({ readModels }: ReaderSources, merchantIds: MerchantIds, period: StatementPeriod) =>
    statementOf(readModels, merchantIds, period),
  overview: async (sources: ReaderSources, range: OverviewRange, now: string) => {
    const { readModels } = sources
    return {
      ...(await bucketsOf(readModels, range)),
      compared: await comparison(readModels, range, now),
      ...(await countOpen(readModels, range.merchantIds)),
      ...(await countWaiting({ readModels, ...thresholds(sources) }, range.merchantIds, now)),
      timeToCompletion: await timeToCompletion(readModels, range),
      oldestPending: await oldestPending(readModels, range.merchantIds),
      failingEndpoints: await failingEndpoints(sources, range.merchantIds),
    }
  },
  open: async (sources: ReaderSources, merchantIds: MerchantIds) => ({
    ...(await countOpen(sources.readModels, merchantIds)),
    failingEndpoints: await failingEndpoints(sources, merchantIds),
  }),
  endpoints: async (sources: ReaderSources, merchantIds: readonly string[]) => {
    const parts = { callbacks: callbacksOf(sources), readModels: sources.readModels }
    const found = new Map<string, EndpointHealth>()
    for (const id of merchantIds) {
      const merchant = sources.merchants.byId(id)
      if (merchant) found.set(id, await endpointHealth(parts, merchant))
    }
    return found
  },
  stuck: (sources: ReaderSources, now: string) =>
    stuckTransfers({ readModels: sources.readModels, ...thresholds(sources) }, now),
  changes: ({ store }: ReaderSources, of: Parameters<typeof changesOf>[1]) => changesOf(store, of),
  search: ({ readModels }: ReaderSources, known: Omit<Parameters<typeof search>[0], 'readModels'>, text: string) =>
    search({ readModels, ...known }, text),
  story: ({ store }: ReaderSources, trackingId: string, asOf?: PointInTime) => auditedHistory(store, trackingId, asOf),
  state: ({ store }: ReaderSources, of: StateKind, id: string, asOf?: PointInTime) => stateAsOf(store, of, id, asOf),
  actions: ({ store }: ReaderSources, query: ActionsQuery, limits: Parameters<typeof actionsPage>[2]) =>
    actionsPage(store, query, limits),
}

/** The reads of a whole log. */
export const walks = {
  state: pages.state,
  manifest: ({ store }: ReaderSources, query: ExportQuery, name: string) => measuredExport(store, query, name),
}

/** The page of a file is in memory as documents, text and bytes: 6 MB if every transfer has the most metadata. */
const filePageSize = 100

/** The files, a page per text. The text is empty if no line of the page matches. */
export const files = {
  transfers: (
    sources: ReaderSources,
    wanted: Omit<TransferSearch, 'limit' | 'cursor'>,
    catalogue: Pick<TransferNames, 'currency' | 'paymentMethods'>,
    reader: CsvReader,
  ) => {
    const merchantName = (id: string) => sources.merchants.byId(id)?.settings.name ?? id
    const pageAfter = (cursor: string | undefined) =>
      searchTransfers(sources.readModels, { ...wanted, limit: filePageSize, cursor })
    return transfersCsv(pageAfter, { ...catalogue, merchantName }, reader)
  },
  async *events({ store }: ReaderSources, query: ExportQuery): AsyncGenerator<string> {
    yield headOf(query.format)
    for await (const { lines } of exportPages(store, query)) yield lines.join('')
  },
}

function thresholds({ merchants }: ReaderSources) {
  return { approvalAboveMinor: (id: string) => merchants.byId(id)?.settings.approvalAboveMinor ?? null }
}

/** Counts the endpoints whose attempts fail. A disabled endpoint receives none. */
async function failingEndpoints(sources: ReaderSources, merchantIds: MerchantIds): Promise<number> {
  const parts = { callbacks: callbacksOf(sources), readModels: sources.readModels }
  let count = 0
  for (const id of merchantIds ?? merchantIdsOf(sources)) {
    if ((sources.merchants.byId(id)?.callbacksDisabled ?? null) !== null) continue
    if ((await failingSinceOf(parts, id)).failingSince !== null) count++
  }
  return count
}

function merchantIdsOf({ merchants }: ReaderSources): readonly string[] {
  return merchants.all().map(({ merchantId }) => merchantId)
}

function callbacksOf({ store }: ReaderSources): CallbackCommands {
  return new CallbackCommands(store, systemClock())
}
