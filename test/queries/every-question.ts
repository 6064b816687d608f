import type { Test } from 'tap'
import { type Status, statusCodes } from '../../src/domain/transfer/transfer.js'
import { type CallbackFilter, callbackStatuses, listCallbacks } from '../../src/queries/callbacks.js'
import type { Place } from '../../src/queries/list-page.js'
import { listTransfers, type TransferFilter } from '../../src/queries/transfers.js'
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

/** Every combination of the filters that HTTP and the CLI offer, over `count` transfers. */
export function transferQuestions(count: number, limit: number): TransferQuestion[] {
  const [early, late] = [timeOf(Math.floor(count / 3)), timeOf(Math.floor(count / 2))]
  const placeAt = (n: number): Place => ({ time: transferOf(n).createdAt, id: transferOf(n)._id })
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

export function callbackQuestions(count: number, limit: number): CallbackFilter[] {
  const { createdAt: time, _id: id } = transferOf(Math.floor(count / 20))
  return merchants.flatMap((merchantId) =>
    [undefined, ...callbackStatuses].flatMap((status) =>
      [undefined, { time, id }].map((cursor) => ({ merchantId, status, cursor, limit })),
    ),
  )
}

/** Asks for the plans of every list there is: each is a search of an index, and looks at no more rows than pages hold. */
export async function askEverything(t: Test, readModels: WatchedReadModels, count: number): Promise<void> {
  const limit = 100
  let longestMs = 0
  const bounded = async (name: string, rows: number, question: () => Promise<unknown>) => {
    const beganMs = performance.now()
    const { looked, plans } = await readModels.watch(question)
    longestMs = Math.max(longestMs, performance.now() - beganMs)
    const wrong = plans.filter((plan) => !isServedByIndex(plan))
    if (plans.length === 0 || wrong.length > 0) t.fail(`${name}: ${plans.join('; ')}`)
    if (looked > rows) t.fail(`${name} looked at ${looked} rows, more than ${rows}`)
  }
  const questions = transferQuestions(count, limit)
  for (const { merchantId, ...filter } of questions) {
    const runs = (filter.kind ? 1 : 2) * (filter.status ? 1 : 5)
    await bounded(JSON.stringify({ merchantId, ...filter }), runs * (limit + 1), () =>
      listTransfers(readModels, merchantId, filter),
    )
  }
  for (const filter of callbackQuestions(count, limit)) {
    await bounded(`callbacks ${JSON.stringify(filter)}`, (filter.status ? 1 : 3) * (limit + 1), () =>
      listCallbacks(readModels, filter),
    )
  }
  for (const merchantId of [busyMerchant, quietMerchant]) {
    for (const after of [undefined, { commit: BigInt(Math.floor(count / 20)) }]) {
      await bounded(`feed of ${merchantId}`, limit, () =>
        readModels
          .collection(collections.transferEvents)
          .find(feedAfter(merchantId, after), { sort: feedOrder, limit }),
      )
    }
  }
  t.equal(questions.length, 4 * 6 * 3 * 2 * 2 * 4)
  t.comment(`${questions.length} questions, the longest took ${longestMs.toFixed(1)} ms`)
}
