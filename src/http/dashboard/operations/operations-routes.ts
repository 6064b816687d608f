import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static, TSchema } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { skipEvent } from '../../../commands/skip-events.js'
import { minuteMs } from '../../../kernel/time.js'
import { Type } from '../../../kernel/typebox.js'
import { type StuckReason, stuckReasons } from '../../../queries/stuck.js'
import { nodeOfHolder, ownNodeId } from '../../../read-models/lease-holder.js'
import { listLeases } from '../../../read-models/leases.js'
import { listNodes } from '../../../read-models/nodes.js'
import { accepted, RequestError } from '../../refusals.js'
import { actorNames, changedBy, readBy, userContext, withNamedActors } from '../session-guard.js'
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
  type RequestOutcome,
  SkipEventRequest,
  SkipEventResponse,
  StuckResponse,
} from './operations-api.js'

const params = Type.Object({ name: Type.String({ minLength: 1, maxLength: 64 }) })

/** Adds the routes for projections, unreadable events, nodes, stuck transfers and checks. */
export const operationsRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const {
    projectionControls: controls,
    eventStore: store,
    readModels,
    readers,
    clock,
    checks,
    projectionLags,
  } = app.services
  const read = app.viewers.allow('operations:read')
  const manage = app.viewers.allow('operations:manage')
  const freshness = new Freshness(projectionLags, clock)
  app.addHook('onClose', async () => freshness.close())
  const stale = app.viewers.allow('transfers:read')({}, FreshnessResponse)
  app.get('/freshness', stale, async () => ({ at: clock(), stale: await freshness.stale() }))
  const listed = async (request: FastifyRequest) => {
    const items = await controls.list()
    return { items: items.map((item) => ({ ...named(request, item), lags: freshness.samplesOf(item.name) })) }
  }
  app.get('/operations/projections', read({}, ProjectionsResponse), listed)
  app.post(
    '/operations/projections/rebuild',
    manage({ body: RebuildRequest }, ProjectionsResponse),
    async (request) => {
      const { actor } = userContext(request)
      for (const { name } of await controls.list()) {
        requireDone(await controls.request(name, 'rebuild', actor, request.body.keep ?? false))
      }
      note(request, 'rebuild', 'all projections')
      return listed(request)
    },
  )
  const route = <Body extends TSchema>(
    change: string,
    body: Body,
    ask: (name: string, by: string, body: Static<Body>) => Promise<RequestOutcome>,
  ) =>
    app.post<{ Params: Static<typeof params>; Body: Static<Body> }>(
      `/operations/projections/:name/${change}`,
      manage({ params, body }, ProjectionItem),
      async (request) => {
        const { name } = request.params
        requireDone(await ask(name, userContext(request).actor, request.body))
        note(request, change, name)
        return named(request, (await controls.list()).find((item) => item.name === name)!)
      },
    )
  route('rebuild', RebuildRequest, (name, by, { keep }) => controls.request(name, 'rebuild', by, keep ?? false))
  for (const what of ['verify', 'switch', 'rollback'] as const) {
    route(what, PlainRequest, (name, by) => controls.request(name, what, by))
  }
  route('pause', PauseRequest, (name, by, { reason }) => controls.pause(name, by, reason ?? null))
  for (const what of ['resume', 'cancel'] as const) route(what, PlainRequest, (name) => controls[what](name))
  app.get('/operations/problems', read({}, ProblemsResponse), async () => ({ items: await controls.problems() }))
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
    const { items, more } = await readers.page(readBy(request), 'stuck', at)
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

function named(request: FastifyRequest, { task, paused, ...item }: Static<typeof ProjectionItem>) {
  const nameOf = actorNames(request)
  return { ...item, task: task && withNamedActors(task, nameOf), paused: paused && withNamedActors(paused, nameOf) }
}

/** @throws RequestError */
function requireDone(outcome: RequestOutcome): void {
  if (outcome === 'unknown') throw new RequestError('unknown-projection')
  if (outcome !== 'done') throw new RequestError('projection-conflict', { violation: outcome.conflict })
}

function note(request: FastifyRequest, change: string, subject: string): void {
  const { securityLog } = request.server.services
  securityLog.note('security.operations_changed', { ...changedBy(request), subject, change })
}
