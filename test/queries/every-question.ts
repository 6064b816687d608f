import type { Test } from 'tap'
import { type Status, statusCodes } from '../../src/domain/transfer/status.js'
import {
  type CallbackFilter,
  callbackStatuses,
  listCallbacks,
  listParkedSince,
} from '../../src/queries/callback-queries.js'
import type { SortKey } from '../../src/queries/list-page.js'
import { oldestPending, timeToCompletion } from '../../src/queries/overview.js'
import { listTransfers, type TransferFilter } from '../../src/queries/transfer-queries.js'
import { searchTransfers, type TransferSearch } from '../../src/queries/transfer-search.js'
import { collections, feedAfter, feedOrder } from '../../src/read-models/documents.js'
import {
  busyMerchant,
  isServedByIndex,
  quietMerchant,
  timeOf,
  transferOf,
  type WatchedReadModels,
} from './listed-rows.js'

const merchants = [undefined, busyMerchant, quietMerchant, '00000000-0000-4000-8000-000000000000']
const statuses = [undefined, ...(Object.keys(statusCodes) as Status[])]
const kinds = [undefined, 'deposit', 'withdrawal'] as const

interface TransferQuestion extends TransferFilter {
  readonly merchantId: string | undefined
}

/** Returns every combination of the filters that HTTP and the CLI offer, over `count` transfers. */
export function transferFilters(count: number, limit: number): TransferQuestion[] {
  const [early, late] = [timeOf(Math.floor(count / 3)), timeOf(Math.floor(count / 2))]
  const placeAt = (n: number): SortKey => ({ at: transferOf(n).createdAt, position: n })
  const cursors = [undefined, placeAt(Math.floor(count / 2.5)), placeAt(count - 1), placeAt(0)]
  return merchants.flatMap((merchantId) =>
    statuses.flatMap((status) =>
      kinds.flatMap((kind) =>
        [undefined, early].flatMap((from) =>
          [undefined, late].flatMap((to) =>
            cursors.map((cursor) => ({ merchantId, status, kind, from, to, cursor, limit })),
          ),
        ),
      ),
    ),
  )
}

function callbackFilters(count: number, limit: number): CallbackFilter[] {
  const position = Math.floor(count / 20)
  const at = timeOf(position)
  const owners = [...merchants.map((each) => (each === undefined ? undefined : [each])), [busyMerchant, quietMerchant]]
  return owners.flatMap((merchantIds) =>
    [undefined, ...callbackStatuses].flatMap((status) =>
      [undefined, { at, position }].map((cursor) => ({ merchantIds, status, cursor, limit })),
    ),
  )
}

const nothing: TransferSearch = {
  ...{
    merchantIds: undefined,
    kind: undefined,
    status: undefined,
    from: undefined,
    to: undefined,
    attention: undefined,
  },
  ...{ method: undefined, minAmountMinor: undefined, maxAmountMinor: undefined, text: undefined, sort: undefined },
  ...{ limit: 50, cursor: undefined },
}

/** Returns every combination of values. The first key changes slowest. */
function combinations(values: { readonly [field in keyof TransferSearch]?: readonly TransferSearch[field][] }) {
  let found: TransferSearch[] = [nothing]
  for (const [field, each] of Object.entries(values))
    found = found.flatMap((search) => each.map((value) => ({ ...search, [field]: value })))
  return found
}

/** Returns every combination that the dashboard offers. */
export function transferSearches(count: number): TransferSearch[] {
  const chosen = [[busyMerchant], [busyMerchant, quietMerchant], ['00000000-0000-4000-8000-000000000000']]
  const inTime = {
    from: [undefined, timeOf(Math.floor(count / 3))],
    to: [undefined, timeOf(Math.floor(count / 2))],
    sort: [undefined, 'oldest'],
  } as const
  const someMerchants = [undefined, ...chosen]
  const texts = [
    'order-1',
    'ada',
    'ADA l',
    'lovelace',
    'user-7',
    'user-70',
    'isik',
    'TR33 0006',
    transferOf(7)._id,
    'zz',
  ]
  return [
    ...combinations({ merchantIds: someMerchants, status: statuses, kind: kinds, ...inTime }),
    ...combinations({ merchantIds: someMerchants, kind: kinds, attention: ['open'], ...inTime }),
    ...combinations({ merchantIds: someMerchants, kind: kinds, method: [1, 2, 3], ...inTime }),
    ...combinations({
      ...{ merchantIds: chosen, kind: kinds, status: statuses, sort: ['largest', 'smallest'] },
      ...{ minAmountMinor: [undefined, 20_000], maxAmountMinor: [undefined, 20_000, 400_000] },
    }),
    ...combinations({ merchantIds: someMerchants, kind: kinds, text: texts }),
  ]
}

/**
 * Returns the maximum number of rows for one page: the rows of each range and, for a search by words, a thousand
 * transfers and the next row of each list of words.
 */
function maxRows({ merchantIds, kind, status, text, method, limit }: TransferSearch): number {
  const ranges = (merchantIds?.length ?? 1) * (kind ? 1 : 2)
  if (text !== undefined || method !== undefined) return 1_200
  return ranges * (status ? 1 : 5) * (limit + 1)
}

/** Checks that the plan of every list searches an index and reads no more rows than the pages contain. */
export async function runEveryQuery(t: Test, readModels: WatchedReadModels, count: number): Promise<void> {
  const limit = 100
  let longestMs = 0
  let longestCpuMs = 0
  const checkRows = async (name: string, rows: number, question: () => Promise<unknown>) => {
    const startedMs = performance.now()
    const cpuBefore = process.cpuUsage()
    const { rowsRead, plans } = await readModels.watch(question)
    longestMs = Math.max(longestMs, performance.now() - startedMs)
    const { user, system } = process.cpuUsage(cpuBefore)
    longestCpuMs = Math.max(longestCpuMs, (user + system) / 1_000)
    const wrong = plans.filter((plan) => !isServedByIndex(plan))
    if (plans.length === 0 || wrong.length > 0) t.fail(`${name}: ${plans.join('; ')}`)
    if (rowsRead > rows) t.fail(`${name} read ${rowsRead} rows, more than ${rows}`)
  }
  const questions = transferFilters(count, limit)
  for (const { merchantId, ...filter } of questions) {
    const runs = (filter.kind ? 1 : 2) * (filter.status ? 1 : 5)
    await checkRows(JSON.stringify({ merchantId, ...filter }), runs * (limit + 1), () =>
      listTransfers({ readModels }, { merchantId, ...filter }),
    )
  }
  for (const search of transferSearches(count)) {
    let cursor: string | null = null
    for (let page = 0; page < 2 && (page === 0 || cursor !== null); page++) {
      await checkRows(`${JSON.stringify(search)}, page ${page}`, maxRows(search), async () => {
        const question = { ...search, cursor: cursor ?? undefined }
        cursor = (await searchTransfers({ readModels }, question)).nextCursor
      })
    }
  }
  for (const merchantIds of [undefined, [busyMerchant], [busyMerchant, quietMerchant]]) {
    const owners = merchantIds?.length ?? 1
    const range = { merchantIds, from: timeOf(Math.floor(count / 3)), to: timeOf(count) }
    await checkRows(`durations of ${merchantIds}`, owners * 2 * 1_000, () => timeToCompletion(readModels, range))
    await checkRows(`oldest pending of ${merchantIds}`, owners * 2 * 10, () => oldestPending(readModels, merchantIds))
  }
  for (const filter of callbackFilters(count, limit)) {
    const runs = (filter.status ? 1 : 3) * (filter.merchantIds?.length ?? 1)
    await checkRows(`callbacks ${JSON.stringify(filter)}`, runs * (limit + 1), () =>
      listCallbacks({ readModels }, filter),
    )
  }
  for (const merchantId of [busyMerchant, quietMerchant]) {
    await checkRows(`parked callbacks of ${merchantId}`, 500, () =>
      listParkedSince({ readModels }, { merchantId, since: '2000-01-01T00:00:00.000Z', limit }),
    )
    for (const after of [undefined, { commit: BigInt(Math.floor(count / 20)) }]) {
      await checkRows(`feed of ${merchantId}`, limit, () =>
        readModels
          .collection(collections.transferEvents)
          .find(feedAfter(merchantId, after), { sort: feedOrder, limit }),
      )
    }
  }
  t.equal(questions.length, 4 * 6 * 3 * 2 * 2 * 4)
  t.comment(
    `${questions.length + transferSearches(count).length} queries, the longest took ${longestMs.toFixed(0)} ms, or ${longestCpuMs.toFixed(0)} ms of CPU`,
  )
}
