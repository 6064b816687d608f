import { type Command, Option } from 'commander'
import { statusCodes } from '../domain/transfer/transfer.js'
import type { ListedCallback } from '../queries/callback-queries.js'
import type { SortKey } from '../queries/list-page.js'
import type { CommandStores } from './cli-stores.js'
import {
  accepted,
  defineCommand,
  definePagedCommand,
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
  definePagedCommand(
    callbacks
      .command('list')
      .description('callbacks, newest first')
      .option('--transfer <trackingId>', 'of this transfer, read from the log', trackingId)
      .option('--merchant <id>', 'of this merchant')
      .addOption(new Option('--status <status>', 'in this state').choices(['waiting', 'delivered', 'parked'])),
    listCallbacks,
    callbackTable,
  )
  defineCommand(
    callbacks
      .command('resend')
      .argument('<trackingId>', '', trackingId)
      .description("send a transfer's latest callback again")
      .option('--webhook-id <id>', 'this callback instead of the latest'),
    resend,
  )
  defineCommand(
    callbacks
      .command('replay-parked')
      .description('deliver parked callbacks again')
      .option('--merchant <id>', 'only of this merchant')
      .option('--transfer <trackingId>', 'only of this transfer', trackingId),
    replayParked,
  )
  defineCommand(
    callbacks.command('enable <merchantId>').description('enable a disabled endpoint'),
    async ({ merchants, context }: CommandStores, _options: object, id: string) => {
      const { changed } = accepted(await merchants.execute(id, { type: 'EnableCallbacks' }, context))
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
  emptyText: 'No callbacks found.',
  hint: (items) =>
    items.some(({ status }) => status === 'parked')
      ? 'some are parked: transferd callbacks replay-parked delivers them again'
      : undefined,
}

interface ListOptions extends PageOptions {
  transfer?: string
  merchant?: string
  status?: ListedCallback['status']
}

async function listCallbacks(stores: CommandStores, options: ListOptions) {
  const { transfer, merchant, status, limit, cursor } = options
  await checkOwner(stores, options)
  const queries = await import('../queries/callback-queries.js')
  const filter = { merchantIds: merchant === undefined ? undefined : [merchant], status, limit, cursor }
  if (transfer !== undefined) return queries.listCallbacksOfTransfer(stores.callbacks, transfer, filter)
  return queries.listCallbacks(await stores.readModels(), filter)
}

/** Reports a mistyped id instead of an empty result. @throws Refused */
async function checkOwner(
  stores: CommandStores,
  { merchant, transfer }: { merchant?: string; transfer?: string },
): Promise<void> {
  if (merchant !== undefined) await findMerchant(stores, merchant)
  if (transfer !== undefined && !(await stores.transfers.find(transfer))) throw new Refused('Transfer not found.')
}

async function resend(stores: CommandStores, options: { webhookId?: string }, trackingId: string) {
  await checkOwner(stores, { transfer: trackingId })
  const { callbacks, context } = stores
  const { webhookId } = options
  const which = webhookId === undefined ? 'latest' : { webhookId: await wholeId(stores, trackingId, webhookId) }
  const { events } = accepted(await callbacks.requeue(trackingId, which, context))
  return { trackingId, requeued: events.map(({ data }) => data.webhookId) }
}

/** Completes a webhook id that was shortened as in the table. */
async function wholeId({ callbacks }: CommandStores, trackingId: string, given: string): Promise<string> {
  const { deliveries } = await callbacks.lane(trackingId)
  return deliveries.find(({ webhookId }) => shortId(webhookId) === given)?.webhookId ?? given
}

async function replayParked(stores: CommandStores, options: { merchant?: string; transfer?: string }) {
  const { merchant, transfer } = options
  if (merchant !== undefined && transfer !== undefined) {
    throw new UsageError('--merchant and --transfer cannot be combined')
  }
  await checkOwner(stores, options)
  if (merchant === undefined && transfer === undefined) await replayUnrecorded(stores)
  const trackingIds = transfer === undefined ? await parkedTransfers(stores, merchant) : [transfer]
  const requeued: string[] = []
  for (const trackingId of trackingIds) {
    const { events } = accepted(await stores.callbacks.requeue(trackingId, 'parked', stores.context))
    requeued.push(...events.map(({ data }) => data.webhookId))
  }
  return { requeued }
}

/** Replays transfer events that the recorder parked. The sweep has recorded their callbacks since. */
async function replayUnrecorded({ eventStore }: CommandStores): Promise<void> {
  const { callbackGroup } = await import('../callbacks/record/callback-recorder.js')
  const { PersistentSubscriptionMissingError } = await import('../event-store/event-store.js')
  try {
    await eventStore.persistentSubscriptions.replayParked(callbackGroup)
  } catch (error) {
    // No service has run on this log yet.
    if (!(error instanceof PersistentSubscriptionMissingError)) throw error
  }
}

/** Returns the transfers with parked callbacks. Reads page by page, because a long outage parks many. */
async function parkedTransfers(stores: CommandStores, merchantId: string | undefined): Promise<Set<string>> {
  const { listCallbacks } = await import('../queries/callback-queries.js')
  const { parseCursor } = await import('../queries/list-page.js')
  const readModels = await stores.readModels()
  const merchantIds = merchantId === undefined ? undefined : [merchantId]
  const found = new Set<string>()
  let cursor: SortKey | undefined
  do {
    const page = await listCallbacks(readModels, { merchantIds, status: 'parked', limit: parkedPage, cursor })
    for (const { trackingId } of page.items) found.add(trackingId)
    cursor = page.nextCursor === null ? undefined : parseCursor(page.nextCursor)
  } while (cursor !== undefined)
  return found
}
