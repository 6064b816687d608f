import type { Command } from 'commander'
import { violate } from '../domain/decider.js'
import { statusCodes } from '../domain/transfer/status.js'
import { storedUuid, storedUuidPrefix } from '../kernel/uuid.js'
import type { ListedCallback } from '../queries/callback-queries.js'
import type { SortKey } from '../queries/list-page.js'
import type { CommandStores } from './cli-stores.js'
import { accepted, defineBareCommand, defineCommand, findMerchant } from './command.js'
import { Refused, refusedBy, UsageError } from './failures.js'
import { columnsOnlyIn } from './listing.js'
import { accessOptions, choice, cursor, flag, option, pageOptions, parsed, secretKeyOption } from './options.js'
import { age, dueIn, shortId, shortIdLength } from './readable.js'

const parkedPage = 500

export function addCallbackCommands(program: Command): void {
  const callbacks = program.command('callbacks').description('deliveries of status callbacks')
  defineCommand(callbacks, 'list', 'callbacks, newest first', {
    watch: true,
    examples: ['--merchant f5ebe0d2 --status parked', '--transfer 7b0f2c1e --json'],
    options: {
      transfer: option('<trackingId>', 'of this transfer, read from the log', storedUuid),
      merchant: option('<id>', 'of this merchant', storedUuid),
      status: choice('<status>', 'in this state', ['waiting', 'delivered', 'parked'] as const),
      ...pageOptions(cursor),
    },
    async run(stores, options) {
      const { transfer, merchant, status, limit, cursor } = options
      await checkOwner(stores, options)
      const queries = await import('../queries/callback-queries.js')
      const filter = { merchantIds: merchant === undefined ? undefined : [merchant], status, limit, cursor }
      if (transfer !== undefined) return queries.listCallbacksOfTransfer(stores.callbacks, transfer, filter)
      return queries.listCallbacks({ readModels: await stores.readModels() }, filter)
    },
    list: {
      columns: {
        webhookId: { head: 'ID', short: ({ webhookId }) => shortId(webhookId) },
        trackingId: { head: 'TRANSFER', short: ({ trackingId }) => shortId(trackingId) },
        transferStatus: {
          head: 'ABOUT',
          cell: ({ transferStatus }) => Object.entries(statusCodes).find(([, code]) => code === transferStatus)?.[0],
        },
        status: {},
        failedAttempts: { head: 'FAILED', align: 'right' },
        dueAt: { head: 'DUE IN', short: ({ dueAt }) => dueAt && dueIn(dueAt), align: 'right' },
        recordedAt: { head: 'AGE', short: ({ recordedAt }) => age(recordedAt), align: 'right' },
        ...columnsOnlyIn('wide and csv', 'merchantId', 'referenceId', 'transferRevision'),
        lastFailure: { max: 30 },
      },
      none: 'No callbacks found.',
      hint: (items: readonly ListedCallback[]) =>
        items.some(({ status }) => status === 'parked')
          ? 'some are parked: transferd callbacks replay-parked delivers them again'
          : undefined,
    },
  })
  const resending = "send a transfer's latest callback again, or those of a merchant that wait after a failed attempt"
  defineCommand(callbacks, 'resend [trackingId]', resending, {
    examples: ['7b0f2c1e', '--waiting --merchant f5ebe0d2'],
    options: {
      webhookId: option('<id>', 'this callback instead of the latest'),
      waiting: flag('with --merchant: all callbacks that wait after a failed attempt'),
      merchant: option('<id>', 'with --waiting: the merchant', storedUuid),
    },
    async run(stores, { webhookId, waiting, merchant }, ...[trackingId]: string[]) {
      if (waiting || merchant !== undefined) {
        if (!waiting || merchant === undefined || trackingId !== undefined || webhookId !== undefined)
          throw new UsageError('name either a transfer, or --waiting and --merchant')
        return resendWaiting(stores, merchant)
      }
      if (trackingId === undefined) throw new UsageError('name either a transfer, or --waiting and --merchant')
      await checkOwner(stores, { transfer: trackingId })
      const { callbacks, context } = stores
      const which = webhookId === undefined ? 'latest' : { webhookId: await wholeId(stores, trackingId, webhookId) }
      const { events } = accepted(await callbacks.requeue(trackingId, which, context))
      return { trackingId, requeued: events.map(({ data }) => data.webhookId) }
    },
  })
  defineBareCommand(callbacks, 'replay <id>', "send a callback again, with the merchant's key", {
    examples: ['0f6c5a1e', '7b0f2c1e --json'],
    args: {
      id: {
        description: 'a webhookId, or a trackingId for the latest callback of the transfer',
        parse: parsed((text) => {
          const prefix = storedUuidPrefix(text)
          return prefix !== undefined && prefix.length >= shortIdLength ? prefix : undefined
        }, `It must be an id, or at least ${shortIdLength} characters of one.`),
      },
    },
    options: { ...accessOptions, secretKey: secretKeyOption },
    async run(_, options, id: string) {
      const { accessOf } = await import('./merchant-api.js')
      const { replayCallback } = await import('./replay.js')
      return replayCallback(id, await accessOf(options))
    },
  })
  defineCommand(callbacks, 'replay-parked', 'deliver parked callbacks again', {
    examples: ['--merchant f5ebe0d2', '--transfer 7b0f2c1e'],
    options: {
      merchant: option('<id>', 'only of this merchant', storedUuid),
      transfer: option('<trackingId>', 'only of this transfer', storedUuid),
    },
    async run(stores, options) {
      const { merchant, transfer } = options
      if (merchant !== undefined && transfer !== undefined)
        throw new UsageError('--merchant and --transfer cannot be combined')
      await checkOwner(stores, options)
      if (merchant === undefined && transfer === undefined) await replayUnrecorded(stores)
      const trackingIds = transfer === undefined ? await parkedTransfers(stores, merchant) : [transfer]
      const requeued: string[] = []
      for (const trackingId of trackingIds) {
        const { events } = accepted(await stores.callbacks.requeue(trackingId, 'parked', stores.context))
        requeued.push(...events.map(({ data }) => data.webhookId))
      }
      return { requeued }
    },
  })
  defineCommand(callbacks, 'enable <merchantId>', 'enable a disabled endpoint', {
    examples: ['f5ebe0d2', 'f5ebe0d2 --json'],
    run: async ({ merchants, context }, _, id: string) => {
      const { changed } = accepted(await merchants.execute(id, { type: 'EnableCallbacks' }, context))
      return { id, changed }
    },
  })
}

/** The service sends them. @throws Refused while the endpoint is disabled */
async function resendWaiting(stores: CommandStores, merchantId: string) {
  const { callbacks, clock, context } = stores
  const { callbacksDisabled } = await findMerchant(stores, merchantId)
  if (callbacksDisabled !== null)
    throw new Refused(
      'endpoint-disabled',
      `The endpoint is disabled: ${callbacksDisabled}. Enable it: transferd callbacks enable ${merchantId}`,
    )
  const { isAnyRetried } = await import('../queries/callback-queries.js')
  // The lists may lag, so they only inform the user.
  const waiting = await isAnyRetried(await stores.readModels(), merchantId, clock())
  await callbacks.requestRetry(merchantId, context)
  return { merchantId, waiting }
}

type Owner = { readonly merchant?: string | undefined; readonly transfer?: string | undefined }

async function checkOwner(stores: CommandStores, { merchant, transfer }: Owner): Promise<void> {
  if (merchant !== undefined) await findMerchant(stores, merchant)
  if (transfer !== undefined && !(await stores.transfers.find(transfer))) throw refusedBy(violate('unknown-transfer'))
}

/** Completes a webhook id that was shortened as in the table. */
async function wholeId({ callbacks }: CommandStores, trackingId: string, given: string): Promise<string> {
  const { deliveries } = await callbacks.lane(trackingId)
  return deliveries.find(({ webhookId }) => shortId(webhookId) === given)?.webhookId ?? storedUuid(given)
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
    const page = await listCallbacks({ readModels }, { merchantIds, status: 'parked', limit: parkedPage, cursor })
    for (const { trackingId } of page.items) found.add(trackingId)
    cursor = page.nextCursor === null ? undefined : parseCursor(page.nextCursor)
  } while (cursor !== undefined)
  return found
}
