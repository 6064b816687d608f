import { Argument, type Command } from 'commander'
import type { Action } from '../audit/history/records.js'
import { parseTime } from '../kernel/time.js'
import type { PointInTime } from '../queries/as-of.js'
import type { AuditedEntry } from '../queries/transfer-history.js'
import { addAuditExportCommand } from './audit-export.js'
import { addAuditFollowCommand } from './audit-follow.js'
import { addIntegrityCommands } from './audit-integrity.js'
import { addAuditProofCommands } from './audit-proofs.js'
import { addAuditReconcileCommand } from './audit-reconcile.js'
import type { CommandStores } from './cli-stores.js'
import { defineCommand, definePagedCommand, type Listing, Refused, UsageError } from './command.js'
import { matching, time, trackingId } from './options.js'
import { type Column, detailed, shortId } from './readable.js'

export function addAuditCommands(program: Command): void {
  const audit = program.command('audit').description('history, past states, and verification of the log and the lists')
  defineCommand(
    audit
      .command('story')
      .argument('<trackingId>', 'or the referenceId')
      .description('the history of a transfer and of related changes to its merchant')
      .option('--at <time>', 'as of a time or a position in the log', at),
    showStory,
    { text: storyTable },
  )
  defineCommand(
    audit
      .command('state')
      .addArgument(new Argument('<of>').choices(['transfer', 'merchant', 'statement']))
      .argument('<id>', 'a trackingId, a merchantId, or <merchantId>[/<day>] for a statement', trackingId)
      .description('the state of a transfer, a merchant or a statement at a time, computed from the log')
      .option('--at <time>', 'a time or a position in the log (default: now)', at),
    showState,
  )
  definePagedCommand(
    audit
      .command('who')
      .description('the actions of users, oldest first')
      .option('--actor <actor>', 'this actor, or all actors with this prefix if it ends with a colon (user:)')
      .option('--type <type>', 'events of this type')
      .option('--from <time>', 'recorded at or after', time)
      .option('--to <time>', 'recorded before', time),
    listActions,
    actionsTable,
    position,
  )
  addAuditFollowCommand(audit)
  addAuditExportCommand(audit)
  addAuditReconcileCommand(audit)
  addAuditProofCommands(audit)
  addIntegrityCommands(audit)
}

/** Positions and times stay text here, because parsing a position loads the log. */
const isPosition = (text: string) => /^\d{1,19}(\/\d{1,19})?$/.test(text)
const position = matching(isPosition, 'It must be the nextCursor of an earlier page.')
const at = matching(
  (text) => isPosition(text) || parseTime(text) !== undefined,
  'It must be a time such as 2026-11-21 or 2026-11-21T10:00:00Z, or a position.',
)

async function pointInTimeOf({ at }: { readonly at?: string }): Promise<PointInTime | undefined> {
  const { parsePointInTime } = await import('../queries/as-of.js')
  return at === undefined ? undefined : parsePointInTime(at)
}

async function showStory(stores: CommandStores, options: { at?: string }, id: string) {
  const { auditedHistory } = await import('../queries/transfer-history.js')
  const { eventStore } = stores
  const time = await pointInTimeOf(options)
  const story =
    (await auditedHistory(eventStore, trackingId(id), time)) ??
    (await auditedHistory(eventStore, await byReference(stores, id), time))
  if (!story) throw new Refused('The transfer did not exist at that time.')
  return story
}

/** @throws Refused */
async function byReference(stores: CommandStores, referenceId: string): Promise<string> {
  const { listByReferenceId } = await import('../queries/transfer-queries.js')
  const merchantIds = (await stores.allMerchants()).map(({ merchantId }) => merchantId)
  const anything = { status: undefined, kind: undefined, from: undefined, to: undefined, cursor: undefined }
  const { items } = await listByReferenceId(stores.transfers, merchantIds, referenceId, { ...anything, limit: 10 })
  const [only, another] = items.map(({ transfer }) => transfer.trackingId)
  if (only === undefined) throw new Refused('Transfer not found.')
  if (another !== undefined) {
    const ids = items.map(({ transfer }) => transfer.trackingId).join(', ')
    throw new Refused(`Several transfers have this referenceId: ${ids}`)
  }
  return only
}

function storyTable(story: readonly AuditedEntry[]): string {
  const columns: Column<AuditedEntry>[] = [
    { head: 'POSITION', cell: ({ position }) => position },
    { head: 'AT', cell: ({ at }) => at },
    { head: 'SOURCE', cell: ({ source }) => source },
    { head: 'TYPE', cell: ({ type }) => type, max: 32 },
    { head: 'BY', cell: ({ actor }) => actor },
  ]
  return detailed(story, columns, ({ data, correlationId }) => ({ ...data, correlationId }))
}

async function showState({ eventStore }: CommandStores, options: { at?: string }, of: string, id: string) {
  const { stateAsOf } = await import('../queries/state-as-of.js')
  const found = await stateAsOf(eventStore, of as Parameters<typeof stateAsOf>[1], id, await pointInTimeOf(options))
  if (found === 'malformed')
    throw new UsageError('a statement is <merchantId>, or <merchantId>/<day> such as …/2026-11-21')
  if (!found) throw new Refused(`The ${of} did not exist at that time.`)
  return found
}

interface ActionsOptions {
  limit: number
  cursor?: string
  actor?: string
  type?: string
  from?: string
  to?: string
}

const actionsTable: Listing<Action> = {
  columns: () => [
    { head: 'AT', cell: ({ recordedAt }) => recordedAt },
    { head: 'TYPE', cell: ({ type }) => type, max: 32 },
    { head: 'TRANSFER', cell: ({ trackingId }) => trackingId && shortId(trackingId) },
    { head: 'MERCHANT', cell: ({ merchantId }) => merchantId && shortId(merchantId) },
    { head: 'BY', cell: ({ actor }) => actor },
  ],
  emptyText: 'No matching actions found.',
}

async function listActions({ eventStore }: CommandStores, { limit, cursor, ...asked }: ActionsOptions) {
  const { actionsPage } = await import('../audit/history/records.js')
  const { formatPosition, parsePosition } = await import('../event-store/event-store.js')
  const after = cursor === undefined ? undefined : parsePosition(cursor)
  const { items, next } = await actionsPage(
    eventStore,
    { ...asked, after },
    { limit, maxLookedAt: Number.POSITIVE_INFINITY },
  )
  return { items, nextCursor: next && formatPosition(next) }
}
