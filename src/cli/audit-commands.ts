import { Argument, type Command } from 'commander'
import type { Action } from '../audit/history/actions-of-user.js'
import type { AuditStoryEntry } from '../audit/history/history-as-of.js'
import type { Moment } from '../audit/history/point-in-time.js'
import { parseMoment } from '../kernel/parse-time.js'
import { addAuditExportCommand } from './audit-export.js'
import { addAuditFollowCommand } from './audit-follow.js'
import { addIntegrityCommands } from './audit-integrity.js'
import { addAuditProofCommands } from './audit-proofs.js'
import { addAuditReconcileCommand } from './audit-reconcile.js'
import type { Workplace } from './cli-stores.js'
import { answer, answerPage, type Listing, Refused, UsageError } from './command.js'
import { matching, moment, trackingId } from './options.js'
import { type Column, detailed, shortId } from './readable.js'

export function addAuditCommands(program: Command): void {
  const audit = program.command('audit').description('what happened, what was when, and whether the lists still say so')
  answer(
    audit
      .command('story')
      .argument('<trackingId>', 'or its referenceId')
      .description('everything that happened to a transfer, and what bore on it at its merchant')
      .option('--at <moment>', 'as it was known then: a time, or a position in the log', at),
    showStory,
    { text: storyTable },
  )
  answer(
    audit
      .command('state')
      .addArgument(new Argument('<of>').choices(['transfer', 'merchant', 'statement']))
      .argument('<id>', 'trackingId; merchantId; <merchantId> or <merchantId>/<day> of a statement', trackingId)
      .description('what a transfer, a merchant or a statement was at a moment, by the log alone')
      .option('--at <moment>', 'a time, or a position in the log; now when absent', at),
    showState,
  )
  answerPage(
    audit
      .command('who')
      .description('who did what, oldest first')
      .option('--actor <actor>', 'this one; with a colon at its end (user:) all that begin so')
      .option('--type <type>', 'this kind of action: the type of its event')
      .option('--from <time>', 'recorded then or later', moment)
      .option('--to <time>', 'recorded before', moment),
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

/** As text, as is a moment: what reads a position loads the log. */
const isPosition = (text: string) => /^\d{1,19}(\/\d{1,19})?$/.test(text)
const position = matching(isPosition, 'It must be the nextCursor of an earlier answer.')
const at = matching(
  (text) => isPosition(text) || parseMoment(text) !== undefined,
  'It must be a time such as 2026-11-21 or 2026-11-21T10:00:00Z, or a position.',
)

async function momentOf({ at }: { readonly at?: string }): Promise<Moment | undefined> {
  const { parseLogMoment } = await import('../audit/history/point-in-time.js')
  return at === undefined ? undefined : parseLogMoment(at)
}

async function showStory(workplace: Workplace, options: { at?: string }, id: string) {
  const { auditStory } = await import('../audit/history/history-as-of.js')
  const { eventStore } = workplace
  const moment = await momentOf(options)
  const story =
    (await auditStory(eventStore, trackingId(id), moment)) ??
    (await auditStory(eventStore, await byReference(workplace, id), moment))
  if (!story) throw new Refused('There was no such transfer then.')
  return story
}

/** @throws Refused */
async function byReference(workplace: Workplace, referenceId: string): Promise<string> {
  const { listByReferenceId } = await import('../queries/transfer-queries.js')
  const merchantIds = (await workplace.allMerchants()).map(({ merchantId }) => merchantId)
  const anything = { status: undefined, kind: undefined, from: undefined, to: undefined, cursor: undefined }
  const { items } = await listByReferenceId(workplace.transfers, merchantIds, referenceId, { ...anything, limit: 10 })
  const [only, another] = items.map(({ transfer }) => transfer.trackingId)
  if (only === undefined) throw new Refused('There is no such transfer.')
  if (another !== undefined) {
    const ids = items.map(({ transfer }) => transfer.trackingId).join(', ')
    throw new Refused(`Several transfers have this referenceId: ${ids}`)
  }
  return only
}

function storyTable(story: readonly AuditStoryEntry[]): string {
  const columns: Column<AuditStoryEntry>[] = [
    { head: 'POSITION', cell: ({ position }) => position },
    { head: 'AT', cell: ({ at }) => at },
    { head: 'SOURCE', cell: ({ source }) => source },
    { head: 'TYPE', cell: ({ type }) => type, max: 32 },
    { head: 'BY', cell: ({ actor }) => actor },
  ]
  return detailed(story, columns, ({ data, correlationId }) => ({ ...data, correlationId }))
}

async function showState({ eventStore }: Workplace, options: { at?: string }, of: string, id: string) {
  const { stateAt } = await import('../audit/history/state-of.js')
  const found = await stateAt(eventStore, of as Parameters<typeof stateAt>[1], id, await momentOf(options))
  if (found === 'malformed')
    throw new UsageError('a statement is <merchantId>, or <merchantId>/<day> such as …/2026-11-21')
  if (!found) throw new Refused(`There was no such ${of} then.`)
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
  none: 'Nobody did anything of the kind.',
}

async function listActions({ eventStore }: Workplace, { limit, cursor, ...asked }: ActionsOptions) {
  const { actionsPage } = await import('../audit/history/actions-of-user.js')
  const { formatPosition, parsePosition } = await import('../event-store/event-store.js')
  const after = cursor === undefined ? undefined : parsePosition(cursor)
  const { items, next } = await actionsPage(
    eventStore,
    { ...asked, after },
    { limit, maxLookedAt: Number.POSITIVE_INFINITY },
  )
  return { items, nextCursor: next && formatPosition(next) }
}
