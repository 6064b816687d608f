import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { MerchantDirectory } from '../../../commands/merchant/merchant-directory.js'
import { minuteMs } from '../../../kernel/time.js'
import { type Stuck, type StuckReason, stuckReasons, stuckTransfers } from '../../../queries/stuck.js'
import { nodeOfHolder, ownNodeId } from '../../../read-models/lease-holder.js'
import { listLeases } from '../../../read-models/leases.js'
import { listNodes } from '../../../read-models/nodes.js'
import type { ReadModels } from '../../../read-models/read-models.js'
import { type Check, ChecksAnswer, NodesAnswer, StuckAnswer } from './operations-api.js'

export interface WatchingOptions {
  readonly readModels: ReadModels
  readonly directory: MerchantDirectory
  readonly clock: () => string
  /** Runs the checks of `transferd doctor` that a process can perform on itself. */
  readonly checks: () => Promise<readonly Check[]>
}

/** Adds the routes for nodes, stuck transfers and checks. */
export const watchingRoutes: FastifyPluginAsyncTypebox<WatchingOptions> = async (app, options) => {
  const { readModels, directory, clock } = options
  const read = app.viewers.allow('operations:read')
  app.route({
    method: 'GET',
    url: '/operations/nodes',
    ...read,
    schema: { hide: true, response: { 200: NodesAnswer } },
    handler: async () => {
      const [nodes, leases] = await Promise.all([listNodes(readModels, clock()), listLeases(readModels)])
      return {
        nodes: nodes.map(({ seenAt: lastSeenAt, isAlive, roles, ...node }) => ({
          ...{ ...node, roles: [...roles], lastSeenAt, state: isAlive ? ('alive' as const) : ('gone' as const) },
          current: node.nodeId === ownNodeId(),
        })),
        leases: leases.map(({ name, holder, renewedAt }) => ({
          ...{ name, renewedAt },
          nodeId: holder === null ? null : nodeOfHolder(holder),
        })),
      }
    },
  })
  app.route({
    method: 'GET',
    url: '/operations/stuck',
    ...read,
    schema: { hide: true, response: { 200: StuckAnswer } },
    handler: async () => {
      const at = clock()
      const approvalAboveMinor = (id: string) => directory.byId(id)?.settings.approvalAboveMinor ?? null
      return answerOf(await stuckTransfers({ readModels, approvalAboveMinor }, at), at)
    },
  })
  app.route({
    method: 'GET',
    url: '/operations/checks',
    ...read,
    schema: { hide: true, response: { 200: ChecksAnswer } },
    handler: async () => ({ at: clock(), checks: [...(await options.checks())] }),
  })
}

function answerOf({ items, more }: Stuck, at: string): Static<typeof StuckAnswer> {
  const reasons = (Object.keys(stuckReasons) as StuckReason[]).map((reason) => ({
    reason,
    afterMinutes: stuckReasons[reason].afterMs / minuteMs,
    count: items.filter((item) => item.reason === reason).length,
    more: more.has(reason),
  }))
  return { at, items: [...items], reasons }
}
