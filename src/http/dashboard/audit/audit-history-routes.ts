import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import { type ExportQuery, exportPages, headOf, manifestOf, measuredExport } from '../../../audit/history/export.js'
import { actionsPage } from '../../../audit/history/records.js'
import {
  type EventStore,
  endOfLog,
  formatPosition,
  type Position,
  parsePosition,
} from '../../../event-store/event-store.js'
import { stateAsOf } from '../../../queries/state-as-of.js'
import { auditedHistory } from '../../../queries/transfer-history.js'
import { type PointInTime, parsePointInTime } from '../../../queries/walk-log.js'
import { invalid, RequestError } from '../../refusals.js'
import { streamId, timeOf } from '../../v1/requests.js'
import { TransferParams as params } from '../api.js'
import { holdWhileSent, limitPerUser, sendLines } from '../downloads.js'
import { actorNames } from '../session-guard.js'
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

/** The limit of concurrent requests that read the log from its start. */
const maxWalks = 2
const actionsLimit = 100
/** The limit of events per response, which takes some tens of milliseconds. */
const maxLookedAt = 20_000

export const auditHistoryRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { eventStore: store, auditCheckpoint } = app.services
  const read = app.viewers.allow('audit:read')
  const walking = limitPerUser(maxWalks)

  app.get(
    '/audit/story/:trackingId',
    read({ params, querystring: AuditStoryQuery }, AuditStoryAnswer),
    async (request) => {
      const story = await auditedHistory(store, streamId(request.params.trackingId), pointInTimeOf(request.query.at))
      if (!story) throw new RequestError('unknown-transfer')
      const nameOf = actorNames(request)
      return { items: story.map((each) => ({ ...each, actorName: nameOf(each.actor) })) }
    },
  )
  app.get('/audit/state', read({ querystring: AuditStateQuery }, AuditStateAnswer), async (request) => {
    const { of, at } = request.query
    const end = of === 'statement' ? walking.hold(request.viewer.userId) : undefined
    try {
      const found = await stateAsOf(store, of, request.query.id.toLowerCase(), pointInTimeOf(at))
      if (found === 'malformed') throw invalid('id', 'merchant-day-invalid')
      if (!found) throw new RequestError(of === 'transfer' ? 'unknown-transfer' : 'unknown-merchant')
      return found
    } finally {
      end?.()
    }
  })
  app.get('/audit/actions', read({ querystring: AuditActionsQuery }, AuditActionsAnswer), async (request) => {
    const { actor, type, cursor, ...times } = request.query
    const [from, to] = [timeOf('from', times.from), timeOf('to', times.to)]
    const after = cursor === undefined ? undefined : positionOf('cursor', cursor)
    const query = { actor, type, from, to, after }
    const { items, next, lookedUpTo } = await actionsPage(store, query, { limit: actionsLimit, maxLookedAt })
    const nameOf = actorNames(request)
    const nextCursor = next && formatPosition(next)
    return { items: items.map((each) => ({ ...each, actorName: nameOf(each.actor) })), nextCursor, lookedUpTo }
  })
  app.get('/audit/export', read({ querystring: AuditExportQuery }), async (request, reply) => {
    const query = await queryOf(store, request.query)
    holdWhileSent(walking, reply)
    return sendLines(reply, 'events', query.format, textOf(store, query))
  })
  app.get('/audit/manifest', read({ querystring: AuditExportQuery }, AuditManifestAnswer), async (request) => {
    const query = await queryOf(store, request.query)
    const end = walking.hold(request.viewer.userId)
    try {
      const measured = await measuredExport(store, query, `events.${query.format}`)
      return manifestOf(query, measured, await auditCheckpoint())
    } finally {
      end()
    }
  })
}

async function* textOf(store: EventStore, query: ExportQuery): AsyncGenerator<string> {
  const head = headOf(query.format)
  if (head !== '') yield head
  for await (const { lines } of exportPages(store, query)) if (lines.length > 0) yield lines.join('')
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
