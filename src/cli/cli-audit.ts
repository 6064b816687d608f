import { statSync } from 'node:fs'
import type { Command } from 'commander'
import type { Difference } from '../audit/history/reconcile.js'
import type { AuditRecord } from '../audit/history/records.js'
import type { SignedManifest } from '../audit/proofs/export-signature.js'
import { violate } from '../domain/decider.js'
import { escapeHidden } from '../kernel/text.js'
import { storedUuid } from '../kernel/uuid.js'
import type { PointInTime } from '../queries/point-in-time.js'
import { addEvidenceCommands } from './audit-evidence.js'
import { addIntegrityCommands, addProofCommands } from './audit-proofs.js'
import { checkpointText } from './checkpoint-text.js'
import type { CommandStores } from './cli-stores.js'
import { defineCommand, findMerchant } from './command.js'
import { sentenceOf, storyText } from './event-text.js'
import { Refused, refusedBy, UsageError } from './failures.js'
import { fieldTable } from './field-table.js'
import { columnsOnlyIn } from './listing.js'
import { interruptSignal, percentOf, printingSignal, progressReporter } from './long-running.js'
import { eventName, type Names, namesOf } from './names.js'
import { choice, defaulting, matching, option, pageOptions, parsed, path, required, time, timeIn } from './options.js'
import { cell, exactTime, jsonLine, outputWidth, shortId, table } from './readable.js'
import { stateText } from './state-text.js'

/** Positions and times stay text here, because parsing a position loads the log. */
const isPosition = (text: string) => /^\d{1,19}(\/\d{1,19})?$/.test(text)
const position = matching(isPosition, 'It must be the nextCursor of an earlier page.')
const at = parsed(
  (text) => (isPosition(text) ? text : timeIn(text)),
  'It must be a time such as 2026-11-21 (midnight UTC) or 2026-11-21T10:00:00Z, or a position.',
)
const anyOf = ['transfer', 'merchant', 'user', 'statement'] as const

export function addAuditCommands(program: Command): void {
  const audit = program.command('audit').description('history, past states, and verification of the log and the lists')
  /** The names for the running command. */
  let names: Names | undefined
  const telling = 'the history of a transfer and of related changes to its merchant'
  defineCommand(audit, 'story <trackingId>', telling, {
    examples: ['7b0f2c1e', 'order-42 --at 2026-11-21T10:00:00Z'],
    // A referenceId keeps its case.
    args: { trackingId: { description: 'or the referenceId', parse: String } },
    options: { at: option('<time>', 'as of a time or a position in the log', at) },
    async run(stores, { at }, id: string) {
      const { auditedHistory } = await import('../queries/transfer-history.js')
      const { eventStore } = stores
      const asOf = await pointInTimeOf(at)
      const storyOf = (trackingId: string) => auditedHistory({ store: eventStore }, { trackingId, asOf })
      const story = (await storyOf(storedUuid(id))) ?? (await storyOf(await byReference(stores, id)))
      if (!story) throw new Refused('not-yet-existing', 'The transfer did not exist at that time.')
      const known = await namesOf(stores)
      names = known
      return story.map((entry) => withActorName(entry, known))
    },
    text: (story) => storyText(story, names as Names),
    list: {
      columns: {
        position: { align: 'right' },
        at: { head: 'TIME', cell: ({ at }) => exactTime(at, 'milliseconds') },
        source: {},
        type: { head: 'EVENT', cell: ({ type }) => eventName(type) },
        actor: { head: 'WHO', cell: ({ actor }) => names?.actor(actor) },
        ...columnsOnlyIn('csv', 'actorName'),
        recordedAt: { only: 'wide and csv', cell: ({ recordedAt }) => exactTime(recordedAt) },
        ...columnsOnlyIn('wide and csv', 'stream', 'revision', 'correlationId'),
        data: { only: 'wide and csv', cell: ({ data }) => names?.value('data', data) },
      },
      none: 'No events.',
    },
  })
  const named = 'a trackingId, merchantId or userId, or <merchantId>[/<day>] for a statement (days in UTC)'
  const computing = 'the state of a transfer, a merchant, a user or a statement at a time, computed from the log'
  defineCommand(audit, 'state <of> <id>', computing, {
    examples: [
      'transfer 7b0f2c1e --at 2026-11-21T10:00:00Z',
      'user 3b9f6c52 --at 2026-11-21',
      'statement f5ebe0d2/2026-11-21',
    ],
    args: { of: { choices: anyOf }, id: { description: named, parse: String } },
    options: { at: option('<time>', 'a time or a position in the log (default: now)', at) },
    async run(stores, { at }, of: string, id: string) {
      const { stateAsOf } = await import('../queries/state-as-of.js')
      const query = { of: of as (typeof anyOf)[number], id, asOf: await pointInTimeOf(at) }
      const found = await stateAsOf({ store: stores.eventStore }, query)
      if (found === 'malformed')
        throw new UsageError('a statement is <merchantId>, or <merchantId>/<day> such as …/2026-11-21')
      if (!found) throw new Refused('not-yet-existing', `The ${of} did not exist at that time.`)
      return { found, names: await namesOf(stores) }
    },
    json: ({ found }) => found,
    text: ({ found, names }) => stateText(found, names),
  })
  defineCommand(audit, 'who', 'the actions of users, oldest first', {
    examples: ['--actor user: --from 2026-11-21', '--type WithdrawalApproved --json'],
    options: {
      actor: option('<actor>', 'this actor, or all actors with this prefix if it ends with a colon (user:)'),
      type: option('<type>', 'events of this type'),
      from: option('<time>', 'recorded at or after', time),
      to: option('<time>', 'recorded before', time),
      ...pageOptions(position),
    },
    async run(stores, { limit, cursor, actor, type, from, to }) {
      const { actionsPage } = await import('../audit/history/records.js')
      const { formatPosition, parsePosition } = await import('../event-store/event-store.js')
      const after = cursor === undefined ? undefined : parsePosition(cursor)
      const query = { actor, type, from, to, after, limit, maxLookedAt: Number.POSITIVE_INFINITY }
      const { items, next } = await actionsPage({ store: stores.eventStore }, query)
      const known = await namesOf(stores)
      names = known
      return { items: items.map((action) => withActorName(action, known)), nextCursor: next && formatPosition(next) }
    },
    list: {
      columns: {
        recordedAt: { head: 'TIME', cell: ({ recordedAt }) => exactTime(recordedAt) },
        type: { head: 'EVENT', cell: ({ type }) => eventName(type), max: 32 },
        trackingId: { head: 'TRANSFER', short: ({ trackingId }) => trackingId && shortId(trackingId) },
        merchantId: {
          head: 'MERCHANT',
          cell: ({ merchantId }) => merchantId && names?.value('merchantId', merchantId),
          short: ({ merchantId }) => merchantId && names?.shortMerchant(merchantId),
          max: 32,
        },
        actor: { head: 'WHO', cell: ({ actor }) => names?.actor(actor) },
        ...columnsOnlyIn('csv', 'actorName'),
        ...columnsOnlyIn('wide and csv', 'position', 'stream', 'revision', 'correlationId'),
      },
      none: 'No matching actions found.',
    },
  })
  defineCommand(audit, 'follow', 'print new events as they are appended, one per line, until SIGTERM or SIGINT', {
    examples: ['', '--json'],
    async run(stores, { output }) {
      if (output === 'json') return follow(stores, jsonLine)
      const known = await namesOf(stores)
      return follow(stores, (record) => textLine(record, known))
    },
  })
  const exporting = 'write events to files with a manifest; an interrupted export resumes when you run it again'
  const target = 'a file, or a directory (existing or with a trailing /) for files of 100,000 events'
  defineCommand(audit, 'export', exporting, {
    examples: [
      '--out export/ --merchant f5ebe0d2',
      '--out november.csv --format csv --from 2026-11-01 --to 2026-12-01',
    ],
    options: {
      out: required(option('<path>', target, path)),
      format: defaulting(
        'ndjson',
        choice('<format>', 'one line per event, exact values for programs', ['ndjson', 'csv'] as const),
      ),
      merchant: option('<id>', 'events of this merchant', storedUuid),
      from: option('<time>', 'recorded at or after', time),
      to: option('<time>', 'recorded before', time),
    },
    async run(stores, { out, format, merchant, from = null, to = null }) {
      if (merchant !== undefined) await findMerchant(stores, merchant)
      const { exportToFiles } = await import('../audit/history/export-files.js')
      const { firstEventIn } = await import('../event-store/event-store.js')
      const { sealingOf } = await import('../operations/audit/audit-tree.js')
      const sealing = sealingOf(stores.configuration, stores)
      const sealed = await sealing.end()
      if (sealed && (await firstEventIn(stores.rawEventStore, { after: sealed })))
        stores.notify('newer events are not sealed yet and not included: the next checkpoint follows within a minute')
      const manifest = await exportToFiles(
        stores.eventStore,
        { format, merchantId: merchant ?? null, from, to },
        {
          path: out,
          isDirectory: out.endsWith('/') || statSync(out, { throwIfNoEntry: false })?.isDirectory() === true,
        },
        {
          signal: interruptSignal(),
          onProgress: progressReporter(
            stores.notify,
            ({ events, at, until }) => `${events} events, ${percentOf(at, until)} % of the log`,
          ),
          ...sealing,
        },
      )
      if (!manifest) throw new Refused('interrupted', 'interrupted: run the same command again to resume')
      return { manifest, names: await namesOf(stores) }
    },
    json: ({ manifest }) => manifest,
    text({ manifest, names }) {
      const { checkpoint, signature, files, ...facts }: SignedManifest = manifest
      const sealed = checkpoint === undefined ? 'No checkpoint covers the export.\n' : checkpointText(checkpoint)
      const signed = signature === undefined ? '' : `Signature of the manifest\n  ${escapeHidden(signature)}\n`
      return `${fieldTable({ ...facts, exportedFiles: files }, names)}${sealed}${signed}`
    },
  })
  const reconciling = 'build temporary lists from the log, compare the live ones, and print every difference'
  defineCommand(audit, 'reconcile', reconciling, {
    examples: ['', '--json'],
    run: async (stores) => ({ results: await reconcileAll(stores), names: await namesOf(stores) }),
    json: ({ results }) => results,
    text({ results, names }) {
      const summary = table(results, {
        PROJECTION: 'projection',
        DOCUMENTS: { cell: 'documents', align: 'right' },
        'COMPARED AT': { cell: 'comparedAt', align: 'right' },
        DIFFERENCES: ({ differences, more }) => `${differences.length}${more ? ' or more' : ''}`,
        PROBLEM: 'problem',
      })
      const documents = results.flatMap(({ projection, differences }) =>
        differences.map((each) => differenceText(projection, each, names)),
      )
      return [summary, ...documents].join('\n')
    },
    finding({ results }) {
      const bad = results.filter(({ problem, differences }) => problem !== null || differences.length > 0)
      if (bad.length === 0) return undefined
      return `different from the log: ${bad.map(({ projection }) => projection).join(', ')} (transferd projections rebuild <name>)`
    },
  })
  addProofCommands(audit)
  addEvidenceCommands(audit)
  addIntegrityCommands(audit)
}

function withActorName<Action extends { readonly actor: string }>(action: Action, names: Names) {
  return { ...action, actorName: names.actorName(action.actor) }
}

async function pointInTimeOf(at: string | undefined): Promise<PointInTime | undefined> {
  const { parsePointInTime } = await import('../queries/point-in-time.js')
  return at === undefined ? undefined : parsePointInTime(at)
}

/** @throws Refused */
async function byReference(stores: CommandStores, referenceId: string): Promise<string> {
  const { listByReferenceId } = await import('../queries/transfer-queries.js')
  const merchantIds = (await stores.allMerchants()).map(({ merchantId }) => merchantId)
  const { items } = await listByReferenceId(stores.transfers, merchantIds, referenceId, { limit: 10 })
  const ids = items.map(({ transfer }) => transfer.trackingId)
  if (ids[0] === undefined) throw refusedBy(violate('unknown-transfer'))
  if (ids.length > 1) throw new Refused('ambiguous-id', `Several transfers have this referenceId: ${ids.join(', ')}`)
  return ids[0]
}

async function follow({ eventStore, announce, write }: CommandStores, lineOf: (record: AuditRecord) => string) {
  const { auditRecord } = await import('../audit/history/records.js')
  const { streamPrefixes } = await import('../domain/streams.js')
  const { endOfLog } = await import('../event-store/event-store.js')
  const signal = printingSignal()
  // Found before the message, after which no new event is missed.
  const after = await endOfLog(eventStore)
  announce('following; press Ctrl-C to stop')
  for await (const { events } of eventStore.subscribeToAll({ ...(after && { after }), streamPrefixes, signal }))
    for (const recorded of events) write(lineOf(auditRecord(recorded)))
}

function textLine({ recordedAt, stream, revision, type, actor, data, unreadable }: AuditRecord, names: Names): string {
  const shown = data === null ? { unreadable } : data
  const sentence = sentenceOf({ type, actor, data: shown }, names)
  return `${exactTime(recordedAt, 'milliseconds')}  ${cell(`${stream}@${revision}`)}  ${sentence}\n`
}

const isIn = { changed: 'differs', missing: 'is missing in the list', added: 'does not result from the log' } as const

/** Returns what differs in a document, with a line per field. Values that look the same are printed as JSON. */
function differenceText(projection: string, { id, kind, values }: Difference, names: Names): string {
  const head = `${cell(projection)} ${cell(id)} ${isIn[kind]}\n`
  if (values.length === 0) return head
  const rows = values.map(({ field, list, log }) => {
    const shown = [list, log].map((each) => names.value(field.split('.').at(-1)!, each))
    const [inList, inLog] = shown[0] === shown[1] ? [list, log].map((each) => JSON.stringify(each)) : shown
    return { field, inList, inLog }
  })
  const columns = { FIELD: 'field', 'IN THE LIST': 'inList', 'FROM THE LOG': 'inLog' } as const
  return `${head}${table(rows, columns, outputWidth()).replace(/^(?=.)/gm, '  ')}`
}

type Replayed = { readonly [place in 'at' | 'end']: { readonly commit: bigint } }

async function reconcileAll(stores: CommandStores) {
  const { reconcile } = await import('../audit/history/reconcile.js')
  const { allProjections: projections } = await import('../projections/all-projections.js')
  const { openTemporaryReadModels } = await import('../operations/stores/list-upkeep.js')
  const { configuration, eventStore: store, notify } = stores
  const live = await stores.readModels()
  const temporary = await openTemporaryReadModels(configuration.dataDirectory, 'reconcile')
  try {
    const onProgress = progressReporter(notify, ({ at, end }: Replayed) => `replayed ${percentOf(at, end)} %`)
    const fresh = temporary.readModels
    const results = await reconcile({ store, live, fresh, projections, signal: interruptSignal(), onProgress })
    if (!results) throw new Refused('interrupted', 'interrupted: the temporary lists were deleted')
    return results
  } finally {
    await temporary.close()
  }
}
