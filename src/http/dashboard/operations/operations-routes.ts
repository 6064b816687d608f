import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static, TSchema } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { skipEvent } from '../../../commands/skip-events.js'
import { violate } from '../../../domain/decider.js'
import { minuteMs } from '../../../kernel/time.js'
import { Type } from '../../../kernel/typebox.js'
import { allProjections } from '../../../projections/all-projections.js'
import { unskippedProblems } from '../../../projections/event-problems.js'
import { projectionStatus } from '../../../projections/projection-status.js'
import { ProjectionConflictError, ProjectionTasks, type TaskRequest } from '../../../projections/projection-tasks.js'
import { type StuckReason, stuckReasons } from '../../../queries/stuck.js'
import { nodeOfHolder, ownNodeId } from '../../../read-models/lease-holder.js'
import { listLeases } from '../../../read-models/leases.js'
import { listNodes } from '../../../read-models/nodes.js'
import { accepted, RequestError } from '../../refusals.js'
import { changedBy, readBy, userContext } from '../session-guard.js'
import { Freshness } from './freshness.js'
import {
  ChecksResponse,
  FreshnessResponse,
  NodesResponse,
  PauseRequest,
  PlainRequest,
  ProblemsResponse,
  ProjectionItem,
  ProjectionsResponse,
  RebuildRequest,
  SkipEventRequest,
  SkipEventResponse,
  StuckResponse,
} from './operations-api.js'
import { viewOfProjection } from './projection-view.js'

const params = Type.Object({ name: Type.String({ minLength: 1, maxLength: 64 }) })

/** Adds the routes for projections, unreadable events, nodes, stuck transfers and checks. */
export const operationsRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { eventStore: store, readModels, readers, clock, checks, projectionLags, unreadableEvents } = app.services
  const stores = { store, readModels }
  const tasks = new ProjectionTasks(readModels, clock)
  const read = app.viewers.allow('operations:read')
  const manage = app.viewers.allow('operations:manage')
  const freshness = new Freshness(projectionLags, clock)
  app.addHook('onClose', async () => freshness.close())
  const stale = app.viewers.allow('transfers:read')({}, FreshnessResponse)
  app.get('/freshness', stale, async () => ({ at: clock(), stale: await freshness.stale() }))
  const listed = async (request: FastifyRequest) => {
    const items = await projectionStatus(stores)
    return {
      items: items.map((item) => ({ ...viewOfProjection(request, item), lags: freshness.samplesOf(item.name) })),
    }
  }
  app.get('/operations/projections', read({}, ProjectionsResponse), listed)
  app.post(
    '/operations/projections/rebuild',
    manage({ body: RebuildRequest }, ProjectionsResponse),
    async (request) => {
      const { actor } = userContext(request)
      for (const { name } of allProjections) await requested(tasks.request(name, rebuild(actor, request.body)))
      note(request, 'rebuild', 'all projections')
      return listed(request)
    },
  )
  const route = <Body extends TSchema>(
    change: string,
    body: Body,
    ask: (name: string, by: string, body: Static<Body>) => Promise<unknown>,
  ) =>
    app.post<{ Params: Static<typeof params>; Body: Static<Body> }>(
      `/operations/projections/:name/${change}`,
      manage({ params, body }, ProjectionItem),
      async (request) => {
        const { name } = request.params
        const projection = allProjections.find((each) => each.name === name)
        if (!projection) throw new RequestError('unknown-projection')
        await requested(ask(name, userContext(request).actor, request.body))
        note(request, change, name)
        const [status] = await projectionStatus(stores, [projection])
        return viewOfProjection(request, status!)
      },
    )
  route('rebuild', RebuildRequest, (name, by, body) => tasks.request(name, rebuild(by, body)))
  for (const what of ['verify', 'switch', 'rollback'] as const) {
    route(what, PlainRequest, (name, by) => tasks.request(name, { what, by }))
  }
  route('pause', PauseRequest, (name, by, { reason }) => tasks.pause(name, by, reason ?? null))
  route('resume', PlainRequest, (name) => tasks.resume(name))
  route('cancel', PlainRequest, async (name) => {
    if (!(await tasks.cancel(name))) throw new ProjectionConflictError(violate('nothing-to-cancel'))
  })
  app.get('/operations/problems', read({}, ProblemsResponse), async () => ({
    items: await unskippedProblems(stores, unreadableEvents()),
  }))
  app.post('/operations/problems/skip', manage({ body: SkipEventRequest }, SkipEventResponse), async (request) => {
    const { stream, revision } = request.body
    const skipped = await skipEvent({ store, clock }, request.body, userContext(request))
    const { problem, changed } = accepted('event', skipped)
    note(request, 'skip-event', `${stream}@${revision}`)
    return { problem, changed }
  })
  app.get('/operations/nodes', read({}, NodesResponse), async () => {
    const [nodes, leases] = await Promise.all([listNodes(readModels, clock()), listLeases(readModels)])
    return {
      nodes: nodes.map(({ seenAt: lastSeenAt, isAlive, ...node }) => ({
        ...node,
        lastSeenAt,
        state: isAlive ? ('alive' as const) : ('gone' as const),
        current: node.nodeId === ownNodeId(),
      })),
      leases: leases.map(({ name, holder, renewedAt }) => ({
        name,
        renewedAt,
        nodeId: holder === null ? null : nodeOfHolder(holder),
      })),
    }
  })
  app.get('/operations/stuck', read({}, StuckResponse), async (request) => {
    const at = clock()
    const { items, more } = await readers.page(readBy(request), 'stuck', { now: at })
    const reasons = (Object.keys(stuckReasons) as StuckReason[]).map((reason) => ({
      reason,
      afterMinutes: stuckReasons[reason].afterMs / minuteMs,
      count: items.filter((item) => item.reason === reason).length,
      more: more.has(reason),
    }))
    return { at, items, reasons }
  })
  app.get('/operations/checks', read({}, ChecksResponse), async () => ({ at: clock(), checks: await checks() }))
}

function rebuild(by: string, { keep = false }: RebuildRequest): TaskRequest {
  return { what: 'rebuild', by, ...(keep && { keep }) }
}

/** @throws RequestError */
async function requested(change: Promise<unknown>): Promise<void> {
  await change.catch((error) => {
    if (!(error instanceof ProjectionConflictError)) throw error
    throw new RequestError('projection-conflict', { violation: error.violation })
  })
}

function note(request: FastifyRequest, change: string, subject: string): void {
  const { securityLog } = request.server.services
  securityLog.note('security.operations_changed', { ...changedBy(request), subject, change })
}
