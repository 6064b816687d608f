import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import { type ExportQuery, exportName, manifestOf } from '../../../audit/history/export.js'
import type { ExportSealing } from '../../../audit/proofs/export-signature.js'
import { formatPosition, type Position, parsePosition } from '../../../event-store/event-store.js'
import { type PointInTime, parsePointInTime } from '../../../queries/point-in-time.js'
import { storedTrackingId, timeOf } from '../../query-parameters.js'
import { invalid, RequestError } from '../../refusals.js'
import { TransferParams as params } from '../api.js'
import { checkSession, closeOf, sendPages, withoutHead } from '../downloads.js'
import { actorNames, readBy, withNamedActors } from '../session-guard.js'
import {
  AuditActionsQuery,
  AuditActionsResponse,
  AuditExportQuery,
  AuditManifestResponse,
  AuditStateQuery,
  AuditStateResponse,
  AuditStoryQuery,
  AuditStoryResponse,
} from './audit-api.js'

const actionsLimit = 100
/** The limit of events per response, which takes some tens of milliseconds. */
const maxLookedAt = 20_000

const unknown = {
  transfer: 'unknown-transfer',
  merchant: 'unknown-merchant',
  user: 'unknown-user',
  statement: 'unknown-merchant',
} as const

export const auditHistoryRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { readers, exportSealing } = app.services
  const read = app.viewers.allow('audit:read')

  app.get(
    '/audit/story/:trackingId',
    read({ params, querystring: AuditStoryQuery }, AuditStoryResponse),
    async (request) => {
      const query = {
        trackingId: storedTrackingId(request.params.trackingId),
        asOf: pointInTimeOf(request.query.at),
      }
      const story = await readers.page(readBy(request), 'story', query)
      if (!story) throw new RequestError('unknown-transfer')
      const nameOf = actorNames(request)
      return {
        items: story.map((each) => ({
          ...each,
          data: withNamedActors(each.data, nameOf),
          actorName: nameOf(each.actor),
        })),
      }
    },
  )
  app.get('/audit/state', read({ querystring: AuditStateQuery }, AuditStateResponse), async (request, reply) => {
    const { of, id, at } = request.query
    const query = { of, id, asOf: pointInTimeOf(at) }
    const by = readBy(request)
    // Only a statement is counted from the start of the log.
    const found = await (of === 'statement'
      ? readers.walk(by, closeOf(reply), 'state', query)
      : readers.page(by, 'state', query))
    await checkSession(request)
    if (found === 'malformed') throw invalid('id', 'merchant-day-invalid')
    if (!found) throw new RequestError(unknown[of])
    return withNamedActors(found, actorNames(request))
  })
  app.get('/audit/actions', read({ querystring: AuditActionsQuery }, AuditActionsResponse), async (request) => {
    const { actor, type, cursor, ...times } = request.query
    const [from, to] = [timeOf('from', times.from), timeOf('to', times.to)]
    const after = cursor === undefined ? undefined : positionOf('cursor', cursor)
    const query = { actor, type, from, to, after, limit: actionsLimit, maxLookedAt }
    const { items, next, lookedUpTo } = await readers.page(readBy(request), 'actions', query)
    const nameOf = actorNames(request)
    const nextCursor = next && formatPosition(next)
    return { items: items.map((each) => ({ ...each, actorName: nameOf(each.actor) })), nextCursor, lookedUpTo }
  })
  const file = { ...withoutHead, ...read({ querystring: AuditExportQuery }) }
  app.get('/audit/export', file, async (request, reply) => {
    const query = await queryOf(exportSealing, request.query)
    const pages = await readers.file(readBy(request), closeOf(reply), 'events', query)
    return sendPages(reply, exportName(query.format), query.format, pages)
  })
  app.get('/audit/manifest', read({ querystring: AuditExportQuery }, AuditManifestResponse), async (request, reply) => {
    const query = await queryOf(exportSealing, request.query)
    const name = `${exportName(query.format)}.${query.format}`
    const measured = await readers.walk(readBy(request), closeOf(reply), 'manifest', { ...query, name })
    await checkSession(request)
    return exportSealing.sign(manifestOf(query, measured))
  })
}

/** @throws RequestError */
async function queryOf(sealing: ExportSealing, query: Static<typeof AuditExportQuery>): Promise<ExportQuery> {
  const { format, merchantId = null, until } = query
  const [from = null, to = null] = [timeOf('from', query.from), timeOf('to', query.to)]
  const end = until === undefined ? await sealing.end() : positionOf('until', until)
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
