import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import { type ExportQuery, exportPages, headOf, manifestOf, measuredExport } from '../../../audit/history/export.js'
import { actionsPage } from '../../../audit/history/records.js'
import type { UserDirectory } from '../../../commands/user/user-commands.js'
import {
  type EventStore,
  endOfLog,
  formatPosition,
  type Position,
  parsePosition,
} from '../../../event-store/event-store.js'
import { Type } from '../../../kernel/typebox.js'
import { type PointInTime, parsePointInTime } from '../../../queries/as-of.js'
import { stateAsOf } from '../../../queries/state-as-of.js'
import { auditedHistory } from '../../../queries/transfer-history.js'
import { invalid, RequestError } from '../../refusals.js'
import { streamId } from '../../v1/own-transfer.js'
import { timeOf } from '../../v1/query-values.js'
import { actorNames } from '../actor-names.js'
import { limitPerUser } from '../concurrency-limit.js'
import {
  AuditActionsAnswer,
  AuditActionsQuery,
  AuditExportQuery,
  AuditManifestAnswer,
  AuditStateAnswer,
  AuditStateQuery,
  AuditStoryAnswer,
  AuditStoryQuery,
} from './audit-api.js'

export interface AuditHistoryOptions {
  readonly eventStore: EventStore
  readonly userDirectory: UserDirectory
  /** The signed checkpoint of the log's tree, if there is one. */
  readonly auditCheckpoint: () => Promise<string | undefined>
}

/** The limit of concurrent requests that read the log from its start. */
const maxWalks = 2
const actionsLimit = 100
/** The limit of events per response, which takes some tens of milliseconds. */
const maxLookedAt = 20_000

export const auditHistoryRoutes: FastifyPluginAsyncTypebox<AuditHistoryOptions> = async (app, options) => {
  const { eventStore: store, userDirectory } = options
  const allowed = app.viewers.allow('audit:read')
  const walking = limitPerUser(maxWalks)

  app.route({
    method: 'GET',
    url: '/audit/story/:trackingId',
    ...allowed,
    schema: {
      hide: true,
      params: Type.Object({ trackingId: Type.String() }),
      querystring: AuditStoryQuery,
      response: { 200: AuditStoryAnswer },
    },
    handler: async (request) => {
      const story = await auditedHistory(store, streamId(request.params.trackingId), pointInTimeOf(request.query.at))
      if (!story) throw new RequestError('unknown-transfer')
      const nameOf = actorNames(userDirectory, request.viewer)
      return { items: story.map((each) => ({ ...each, actorName: nameOf(each.actor) })) }
    },
  })
  app.route({
    method: 'GET',
    url: '/audit/state',
    ...allowed,
    schema: { hide: true, querystring: AuditStateQuery, response: { 200: AuditStateAnswer } },
    handler: async (request) => {
      const { of, at } = request.query
      const end = of === 'statement' ? walking.hold(request.viewer.userId) : undefined
      try {
        const found = await stateAsOf(store, of, request.query.id.toLowerCase(), pointInTimeOf(at))
        if (found === 'malformed') throw invalid('id', 'merchant-day-invalid')
        if (!found) throw new RequestError(of === 'transfer' ? 'unknown-transfer' : 'unknown-merchant')
        return { ...found, statement: found.statement && [...found.statement] }
      } finally {
        end?.()
      }
    },
  })
  app.route({
    method: 'GET',
    url: '/audit/actions',
    ...allowed,
    schema: { hide: true, querystring: AuditActionsQuery, response: { 200: AuditActionsAnswer } },
    handler: async (request) => {
      const { actor, type, cursor, ...times } = request.query
      const [from, to] = [timeOf('from', times.from), timeOf('to', times.to)]
      const after = cursor === undefined ? undefined : positionOf('cursor', cursor)
      const query = { actor, type, from, to, after }
      const { items, next, lookedUpTo } = await actionsPage(store, query, { limit: actionsLimit, maxLookedAt })
      const nameOf = actorNames(userDirectory, request.viewer)
      const nextCursor = next && formatPosition(next)
      return { items: items.map((each) => ({ ...each, actorName: nameOf(each.actor) })), nextCursor, lookedUpTo }
    },
  })
  app.route({
    method: 'GET',
    url: '/audit/export',
    ...allowed,
    schema: { hide: true, querystring: AuditExportQuery },
    handler: async (request, reply) => {
      const query = await queryOf(store, request.query)
      const end = walking.hold(request.viewer.userId)
      reply.raw.once('close', end)
      // A reader that left during the session check triggers no further close event.
      if (reply.raw.closed) end()
      const type = query.format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson'
      return reply
        .type(type)
        .header('content-disposition', `attachment; filename="${nameOf(query)}"`)
        .send(Readable.from(textOf(store, query), { objectMode: false, highWaterMark: 1 }))
    },
  })
  app.route({
    method: 'GET',
    url: '/audit/manifest',
    ...allowed,
    schema: { hide: true, querystring: AuditExportQuery, response: { 200: AuditManifestAnswer } },
    handler: async (request) => {
      const query = await queryOf(store, request.query)
      const end = walking.hold(request.viewer.userId)
      try {
        const measured = await measuredExport(store, query, nameOf(query))
        const { files, ...rest } = manifestOf(query, measured, await options.auditCheckpoint())
        return { ...rest, files: [...files] }
      } finally {
        end()
      }
    },
  })
}

async function* textOf(store: EventStore, query: ExportQuery): AsyncGenerator<string> {
  const head = headOf(query.format)
  if (head !== '') yield head
  for await (const { lines } of exportPages(store, query)) if (lines.length > 0) yield lines.join('')
}

function nameOf({ format }: ExportQuery): string {
  return `events.${format}`
}

/** @throws RequestError */
async function queryOf(store: EventStore, asked: Static<typeof AuditExportQuery>): Promise<ExportQuery> {
  const { format, merchantId = null, until } = asked
  const [from = null, to = null] = [timeOf('from', asked.from), timeOf('to', asked.to)]
  const end = until === undefined ? await endOfLog(store) : positionOf('until', until)
  return { format, merchantId, from, to, until: end ?? null }
}

/** @throws RequestError */
function pointInTimeOf(text: string | undefined): PointInTime | undefined {
  const asOf = text === undefined ? undefined : parsePointInTime(text)
  if (text !== undefined && !asOf) throw invalid('at', 'time-or-position')
  return asOf
}

/** @throws RequestError */
function positionOf(name: string, text: string): Position {
  const position = parsePosition(text)
  if (!position) throw invalid(name, 'position-invalid')
  return position
}
