import { type Command, Option } from 'commander'
import { statusCodes } from '../domain/transfer/transfer.js'
import type { ListedCallback } from '../queries/callback-queries.js'
import type { Place } from '../queries/list-page.js'
import type { Workplace } from './cli-stores.js'
import {
  accepted,
  answer,
  answerPage,
  findMerchant,
  type Listing,
  type PageOptions,
  Refused,
  UsageError,
} from './command.js'
import { trackingId } from './options.js'
import { age, dueIn, shortId } from './readable.js'

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
    callbackTable,
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
      .description('deliver again what was given up')
      .option('--merchant <id>', 'of this merchant only')
      .option('--transfer <trackingId>', 'of this transfer only', trackingId),
    replayParked,
  )
  answer(
    callbacks.command('enable <merchantId>').description('deliver callbacks again to an endpoint that was disabled'),
    async ({ merchants, context }: Workplace, _options: object, id: string) => {
      const { changed } = accepted(await merchants.enableCallbacks(id, context))
      return { id, changed }
    },
  )
}

const callbackTable: Listing<ListedCallback> = {
  columns: () => [
    { head: 'ID', cell: ({ webhookId }) => shortId(webhookId) },
    { head: 'TRANSFER', cell: ({ trackingId }) => shortId(trackingId) },
    {
      head: 'ABOUT',
      cell: ({ transferStatus }) => Object.entries(statusCodes).find(([, code]) => code === transferStatus)?.[0],
    },
    { head: 'STATUS', cell: ({ status }) => status },
    { head: 'FAILED', cell: ({ failedAttempts }) => failedAttempts, align: 'right' },
    { head: 'DUE IN', cell: ({ dueAt }) => dueAt && dueIn(dueAt), align: 'right' },
    { head: 'AGE', cell: ({ recordedAt }) => age(recordedAt), align: 'right' },
    { head: 'LAST FAILURE', cell: ({ lastFailure }) => lastFailure, max: 30 },
  ],
  none: 'No callbacks found.',
  hint: (items) =>
    items.some(({ status }) => status === 'parked')
      ? 'some were given up: transferd callbacks replay-parked delivers them again'
      : undefined,
}

interface ListOptions extends PageOptions {
  transfer?: string
  merchant?: string
  status?: ListedCallback['status']
}

async function listCallbacks(workplace: Workplace, options: ListOptions) {
  const { transfer, merchant, status, limit, cursor } = options
  await checkOwner(workplace, options)
  const queries = await import('../queries/callback-queries.js')
  const filter = { merchantIds: merchant === undefined ? undefined : [merchant], status, limit, cursor }
  if (transfer !== undefined) return queries.listCallbacksOfTransfer(workplace.callbacks, transfer, filter)
  return queries.listCallbacks(await workplace.readModels(), filter)
}

/** Nothing found would be no answer to who mistyped the id. @throws Refused */
async function checkOwner(
  workplace: Workplace,
  { merchant, transfer }: { merchant?: string; transfer?: string },
): Promise<void> {
  if (merchant !== undefined) await findMerchant(workplace, merchant)
  if (transfer !== undefined && !(await workplace.transfers.find(transfer)))
    throw new Refused('There is no such transfer.')
}

async function resend(workplace: Workplace, options: { webhookId?: string }, trackingId: string) {
  await checkOwner(workplace, { transfer: trackingId })
  const { callbacks, context } = workplace
  const { webhookId } = options
  const which = webhookId === undefined ? 'latest' : { webhookId: await wholeId(workplace, trackingId, webhookId) }
  const { events } = accepted(await callbacks.requeue(trackingId, which, context))
  return { trackingId, requeued: events.map(({ data }) => data.webhookId) }
}

/** Of the callback whose id begins as the table shows it, or as it was given. */
async function wholeId({ callbacks }: Workplace, trackingId: string, given: string): Promise<string> {
  const { deliveries } = await callbacks.lane(trackingId)
  return deliveries.find(({ webhookId }) => shortId(webhookId) === given)?.webhookId ?? given
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
  const { callbackGroup } = await import('../callbacks/record/subscription-recorder.js')
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
  const { listCallbacks } = await import('../queries/callback-queries.js')
  const { parseCursor } = await import('../queries/list-page.js')
  const readModels = await workplace.readModels()
  const merchantIds = merchantId === undefined ? undefined : [merchantId]
  const found = new Set<string>()
  let cursor: Place | undefined
  do {
    const page = await listCallbacks(readModels, { merchantIds, status: 'parked', limit: parkedPage, cursor })
    for (const { trackingId } of page.items) found.add(trackingId)
    cursor = page.nextCursor === null ? undefined : parseCursor(page.nextCursor)
  } while (cursor !== undefined)
  return found
}
