import { type Command, Option } from 'commander'
import type { CallbackDocument } from '../read-models/documents.js'
import type { Filter, Sort } from '../read-models/read-models.js'
import { accepted, answer, Refused, UsageError } from './command.js'
import { integer, trackingId } from './options.js'
import type { Workplace } from './workplace.js'

type CallbackStatus = CallbackDocument['status']

const parkedPage = 500

export function addCallbackCommands(program: Command): void {
  const callbacks = program.command('callbacks').description('deliveries of status callbacks')
  answer(
    callbacks
      .command('list')
      .description('callbacks: the parked ones first, then those that wait, then those that arrived')
      .option('--transfer <trackingId>', 'of this transfer, as the log has them', trackingId)
      .option('--merchant <id>', 'of this merchant')
      .addOption(new Option('--status <status>', 'in this state').choices(['waiting', 'delivered', 'parked']))
      .addOption(new Option('--limit <n>', 'at most so many, 1 to 1000').argParser(integer(1, 1000)).default(50)),
    listCallbacks,
  )
  answer(
    callbacks
      .command('resend')
      .argument('<trackingId>', '', trackingId)
      .description("send a transfer's latest callback again")
      .option('--webhook-id <id>', 'this callback and not the latest'),
    resend,
  )
  answer(
    callbacks
      .command('replay-parked')
      .description('take up again what was given up')
      .option('--merchant <id>', 'of this merchant only')
      .option('--transfer <trackingId>', 'of this transfer only', trackingId),
    replayParked,
  )
  answer(
    callbacks.command('enable <merchantId>').description('send callbacks to an endpoint that was disabled again'),
    async ({ merchants, context }: Workplace, _options: object, id: string) => {
      const { changed } = accepted(await merchants.enableCallbacks(id, context))
      return { id, changed }
    },
  )
}

interface ListOptions {
  transfer?: string
  merchant?: string
  status?: CallbackStatus
  limit: number
}

async function listCallbacks(workplace: Workplace, options: ListOptions) {
  const { merchant, status, limit } = options
  await checkOwner(workplace, options)
  if (options.transfer !== undefined) {
    const lane = await laneOf(workplace, options.transfer)
    return lane
      .filter((callback) => (merchant ?? callback.merchantId) === callback.merchantId)
      .filter((callback) => (status ?? callback.status) === callback.status)
      .slice(0, limit)
  }
  const { collections } = await import('../read-models/documents.js')
  const collection = workplace.readModels.collection(collections.callbacks)
  const found: CallbackDocument[] = []
  for (const state of status ? [status] : (['parked', 'waiting', 'delivered'] as const)) {
    if (found.length === limit) break
    const { filter, sort } = inState(state)
    const owned = merchant === undefined ? filter : { $and: [{ merchantId: merchant }, filter] }
    found.push(...((await collection.find(owned, { ...sort, limit: limit - found.length })) as CallbackDocument[]))
  }
  return found.map(callbackView)
}

/** Nothing found would be no answer to who mistyped the id. @throws Refused */
async function checkOwner(
  { merchants, transfers }: Workplace,
  { merchant, transfer }: { merchant?: string; transfer?: string },
): Promise<void> {
  if (merchant !== undefined && !(await merchants.find(merchant))) throw new Refused('There is no such merchant.')
  if (transfer !== undefined && !(await transfers.find(transfer))) throw new Refused('There is no such transfer.')
}

/** By the fields that are indexed: `dueAt` is there while a callback waits, `parkedAt` while it is parked. */
function inState(status: CallbackStatus): { filter: Filter; sort: { sort?: Sort } } {
  switch (status) {
    case 'parked':
      return { filter: { parkedAt: { $exists: true } }, sort: { sort: { parkedAt: 1 } } }
    case 'waiting':
      return { filter: { dueAt: { $exists: true } }, sort: { sort: { dueAt: 1 } } }
    case 'delivered':
      return { filter: { dueAt: { $exists: false }, parkedAt: { $exists: false } }, sort: {} }
    default:
      return status satisfies never
  }
}

async function laneOf({ callbacks }: Workplace, trackingId: string) {
  const lane = await callbacks.lane(trackingId)
  return lane.deliveries.map(
    ({ webhookId, transferRevision, payload, status, attempts, nextAttemptAt, lastFailure }) => ({
      webhookId,
      trackingId,
      merchantId: lane.merchantId,
      referenceId: payload.referenceId,
      transferRevision,
      transferStatus: payload.status,
      status,
      failedAttempts: attempts,
      dueAt: status === 'waiting' ? nextAttemptAt : null,
      lastFailure,
    }),
  )
}

function callbackView(callback: CallbackDocument) {
  return {
    webhookId: callback._id,
    trackingId: callback.trackingId,
    merchantId: callback.merchantId,
    referenceId: callback.referenceId,
    transferRevision: callback.transferRevision,
    transferStatus: callback.transferStatus,
    status: callback.status,
    failedAttempts: callback.attempts,
    dueAt: callback.dueAt ?? null,
    lastFailure: callback.lastFailure,
  }
}

async function resend(workplace: Workplace, options: { webhookId?: string }, trackingId: string) {
  await checkOwner(workplace, { transfer: trackingId })
  const { callbacks, context } = workplace
  const which = options.webhookId === undefined ? 'latest' : { webhookId: options.webhookId }
  const { events } = accepted(await callbacks.requeue(trackingId, which, context))
  return { trackingId, requeued: events.map(({ data }) => data.webhookId) }
}

async function replayParked(workplace: Workplace, options: { merchant?: string; transfer?: string }) {
  const { merchant, transfer } = options
  if (merchant !== undefined && transfer !== undefined) {
    throw new UsageError('--merchant and --transfer exclude one another')
  }
  await checkOwner(workplace, options)
  if (merchant === undefined && transfer === undefined) await replayUnrecorded(workplace)
  const trackingIds = transfer === undefined ? await parkedTransfers(workplace, merchant) : [transfer]
  const requeued: string[] = []
  for (const trackingId of trackingIds) {
    const { events } = accepted(await workplace.callbacks.requeue(trackingId, 'parked', workplace.context))
    requeued.push(...events.map(({ data }) => data.webhookId))
  }
  return { requeued }
}

/** Transfer events that the recorder gave up on; their callbacks the sweep has recorded since. */
async function replayUnrecorded({ eventStore }: Workplace): Promise<void> {
  const { callbackGroup } = await import('../callbacks/recorder.js')
  const { PersistentSubscriptionMissingError } = await import('../event-store/event-store.js')
  try {
    await eventStore.persistentSubscriptions.replayParked(callbackGroup)
  } catch (error) {
    // No service has run on this log yet.
    if (!(error instanceof PersistentSubscriptionMissingError)) throw error
  }
}

/** The transfers that have parked callbacks, page by page: there may be very many after a long outage. */
async function parkedTransfers({ readModels }: Workplace, merchantId: string | undefined): Promise<Set<string>> {
  const { collections } = await import('../read-models/documents.js')
  const collection = readModels.collection(collections.callbacks)
  const found = new Set<string>()
  let after: CallbackDocument | undefined
  for (;;) {
    const { parkedAt } = after ?? {}
    const rest: Filter =
      after && parkedAt !== undefined
        ? { $or: [{ parkedAt: { $gt: parkedAt } }, { $and: [{ parkedAt }, { _id: { $gt: after._id } }] }] }
        : { parkedAt: { $exists: true } }
    const filter = merchantId === undefined ? rest : { $and: [{ merchantId }, rest] }
    const sort = { parkedAt: 1, _id: 1 } as const
    const page = (await collection.find(filter, { sort, limit: parkedPage })) as CallbackDocument[]
    for (const { trackingId } of page) found.add(trackingId)
    after = page.at(-1)
    if (page.length < parkedPage) return found
  }
}
