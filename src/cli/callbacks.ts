import { type Command, Option } from 'commander'
import type { Place } from '../queries/list-page.js'
import type { CallbackDocument } from '../read-models/documents.js'
import { accepted, answer, answerPage, type PageOptions, Refused, UsageError } from './command.js'
import { trackingId } from './options.js'
import type { Workplace } from './workplace.js'

const parkedPage = 500

export function addCallbackCommands(program: Command): void {
  const callbacks = program.command('callbacks').description('deliveries of status callbacks')
  answerPage(
    callbacks
      .command('list')
      .description('callbacks, newest first')
      .option('--transfer <trackingId>', 'of this transfer, as the log has them', trackingId)
      .option('--merchant <id>', 'of this merchant')
      .addOption(new Option('--status <status>', 'in this state').choices(['waiting', 'delivered', 'parked'])),
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

interface ListOptions extends PageOptions {
  transfer?: string
  merchant?: string
  status?: CallbackDocument['status']
}

async function listCallbacks(workplace: Workplace, options: ListOptions) {
  const { transfer, merchant: merchantId, status, limit, cursor } = options
  await checkOwner(workplace, options)
  if (transfer !== undefined) return listLane(workplace, transfer, options)
  const queries = await import('../queries/callbacks.js')
  const page = await queries.listCallbacks(await workplace.readModels(), { merchantId, status, limit, cursor })
  return { ...page, items: page.items.map(callbackView) }
}

/** Nothing found would be no answer to who mistyped the id. @throws Refused */
async function checkOwner(
  { merchants, transfers }: Workplace,
  { merchant, transfer }: { merchant?: string; transfer?: string },
): Promise<void> {
  if (merchant !== undefined && !(await merchants.find(merchant))) throw new Refused('There is no such merchant.')
  if (transfer !== undefined && !(await transfers.find(transfer))) throw new Refused('There is no such transfer.')
}

async function listLane({ callbacks }: Workplace, trackingId: string, options: ListOptions) {
  const { deliveries, merchantId } = await callbacks.lane(trackingId)
  const { pageOfAll } = await import('../queries/list-page.js')
  const wanted = deliveries
    .filter(() => (options.merchant ?? merchantId) === merchantId)
    .filter(({ status }) => (options.status ?? status) === status)
  const page = pageOfAll(wanted, options, ({ recordedAt, webhookId }) => ({ time: recordedAt, id: webhookId }))
  const items = page.items.map(
    ({ webhookId, transferRevision, payload, status, attempts, recordedAt, nextAttemptAt, lastFailure }) => ({
      webhookId,
      trackingId,
      merchantId,
      referenceId: payload.referenceId,
      transferRevision,
      transferStatus: payload.status,
      status,
      failedAttempts: attempts,
      recordedAt,
      dueAt: status === 'waiting' ? nextAttemptAt : null,
      lastFailure,
    }),
  )
  return { ...page, items }
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
    recordedAt: callback.recordedAt,
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
  const { callbackGroup } = await import('../callbacks/record/recorder.js')
  const { PersistentSubscriptionMissingError } = await import('../event-store/event-store.js')
  try {
    await eventStore.persistentSubscriptions.replayParked(callbackGroup)
  } catch (error) {
    // No service has run on this log yet.
    if (!(error instanceof PersistentSubscriptionMissingError)) throw error
  }
}

/** The transfers that have parked callbacks, page by page: there may be very many after a long outage. */
async function parkedTransfers(workplace: Workplace, merchantId: string | undefined): Promise<Set<string>> {
  const { listCallbacks } = await import('../queries/callbacks.js')
  const { parseCursor } = await import('../queries/list-page.js')
  const readModels = await workplace.readModels()
  const found = new Set<string>()
  let cursor: Place | undefined
  do {
    const page = await listCallbacks(readModels, { merchantId, status: 'parked', limit: parkedPage, cursor })
    for (const { trackingId } of page.items) found.add(trackingId)
    cursor = page.nextCursor === null ? undefined : parseCursor(page.nextCursor)
  } while (cursor !== undefined)
  return found
}
