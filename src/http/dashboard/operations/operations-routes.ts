import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static, TSchema } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { skipEvent } from '../../../commands/skip-events.js'
import type { EventStore } from '../../../event-store/event-store.js'
import type { Violation } from '../../../kernel/rules.js'
import { Type } from '../../../kernel/typebox.js'
import type { SecurityLog } from '../../../security/security-log.js'
import { accepted, RequestError } from '../../refusals.js'
import { contextOf } from '../session-guard.js'
import {
  PauseRequest,
  PlainRequest,
  type ProblemItem,
  ProblemsAnswer,
  ProjectionItem,
  ProjectionsAnswer,
  RebuildRequest,
  SkipEventAnswer,
  SkipEventRequest,
} from './operations-api.js'

type RequestOutcome = 'done' | 'unknown' | { readonly conflict: Violation }

/** The projections as the dashboard controls them. The nodes that run them carry out what is requested. */
export interface ProjectionControls {
  list(): Promise<readonly Static<typeof ProjectionItem>[]>
  request(
    name: string,
    what: 'rebuild' | 'verify' | 'switch' | 'rollback',
    by: string,
    keep?: boolean,
  ): Promise<RequestOutcome>
  pause(name: string, by: string, reason: string | null): Promise<RequestOutcome>
  resume(name: string): Promise<RequestOutcome>
  cancel(name: string): Promise<RequestOutcome>
  /** Returns the unreadable events that no operator has skipped. */
  problems(): Promise<readonly Static<typeof ProblemItem>[]>
}

export interface OperationsOptions {
  readonly projectionControls: ProjectionControls
  readonly eventStore: EventStore
  readonly clock: () => string
  readonly securityLog: SecurityLog
}

const params = Type.Object({ name: Type.String({ minLength: 1, maxLength: 64 }) })

/** Adds the routes for projections and unreadable events. */
export const operationsRoutes: FastifyPluginAsyncTypebox<OperationsOptions> = async (app, options) => {
  const { projectionControls: controls } = options
  app.route({
    method: 'GET',
    url: '/operations/projections',
    ...app.viewers.allow('operations:read'),
    schema: { hide: true, response: { 200: ProjectionsAnswer } },
    handler: async () => ({ items: [...(await controls.list())] }),
  })
  app.route({
    method: 'POST',
    url: '/operations/projections/rebuild',
    ...app.viewers.allow('operations:manage'),
    schema: { hide: true, body: RebuildRequest, response: { 200: ProjectionsAnswer } },
    handler: async (request) => {
      const { actor } = contextOf(request)
      for (const { name } of await controls.list())
        done(await controls.request(name, 'rebuild', actor, request.body.keep ?? false))
      note(options, request, 'rebuild', 'all projections')
      return { items: [...(await controls.list())] }
    },
  })
  await projectionRoutes(app, options)
  await problemRoutes(app, options)
}

const projectionRoutes: FastifyPluginAsyncTypebox<OperationsOptions> = async (app, options) => {
  const { projectionControls: controls } = options
  const route = <Body extends TSchema>(
    change: string,
    body: Body,
    ask: (name: string, by: string, body: Static<Body>) => Promise<RequestOutcome>,
  ) =>
    app.route<{ Params: Static<typeof params>; Body: Static<Body> }>({
      method: 'POST',
      url: `/operations/projections/:name/${change}`,
      ...app.viewers.allow('operations:manage'),
      schema: { hide: true, params, body, response: { 200: ProjectionItem } },
      handler: async (request) => {
        const { name } = request.params
        done(await ask(name, contextOf(request).actor, request.body))
        note(options, request, change, name)
        return (await controls.list()).find((item) => item.name === name)!
      },
    })
  route('rebuild', RebuildRequest, (name, by, { keep }) => controls.request(name, 'rebuild', by, keep ?? false))
  for (const what of ['verify', 'switch', 'rollback'] as const)
    route(what, PlainRequest, (name, by) => controls.request(name, what, by))
  route('pause', PauseRequest, (name, by, { reason }) => controls.pause(name, by, reason ?? null))
  for (const what of ['resume', 'cancel'] as const) route(what, PlainRequest, (name) => controls[what](name))
}

const problemRoutes: FastifyPluginAsyncTypebox<OperationsOptions> = async (app, options) => {
  const { projectionControls: controls, eventStore: store, clock } = options
  app.route({
    method: 'GET',
    url: '/operations/problems',
    ...app.viewers.allow('operations:read'),
    schema: { hide: true, response: { 200: ProblemsAnswer } },
    handler: async () => ({ items: [...(await controls.problems())] }),
  })
  app.route({
    method: 'POST',
    url: '/operations/problems/skip',
    ...app.viewers.allow('operations:manage'),
    schema: { hide: true, body: SkipEventRequest, response: { 200: SkipEventAnswer } },
    handler: async (request) => {
      const { stream, revision } = request.body
      const { problem, changed } = accepted(
        'event',
        await skipEvent({ store, clock }, request.body, contextOf(request)),
      )
      note(options, request, 'skip-event', `${stream}@${revision}`)
      return { problem, changed }
    },
  })
}

/** @throws RequestError */
function done(outcome: RequestOutcome): void {
  if (outcome === 'unknown') throw new RequestError('unknown-projection')
  if (outcome !== 'done') throw new RequestError('projection-conflict', { violation: outcome.conflict })
}

function note({ securityLog }: OperationsOptions, request: FastifyRequest, change: string, subject: string): void {
  const { id: requestId, ip: address, viewer } = request
  securityLog.note('security.operations_changed', { requestId, address, userId: viewer.userId, subject, change })
}
