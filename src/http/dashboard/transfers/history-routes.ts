import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { MerchantDirectory } from '../../../commands/merchant/merchant-directory.js'
import type { TransferCommands } from '../../../commands/transfer/transfers.js'
import type { UserDirectory } from '../../../commands/user/user-commands.js'
import type { EventStore } from '../../../event-store/event-store.js'
import { Type } from '../../../kernel/typebox.js'
import { changesOf } from '../../../queries/recent-changes.js'
import { transferHistory } from '../../../queries/transfer-history.js'
import { actorNames } from '../actor-names.js'
import { ChangesAnswer, StoryAnswer } from '../api.js'
import { requireOwn } from '../own-merchants.js'

export interface StoryOptions {
  readonly store: Pick<EventStore, 'readStream'>
  readonly transfers: TransferCommands
  readonly directory: MerchantDirectory
  readonly userDirectory: UserDirectory
}

/** Adds the history of a transfer, read from the log. */
export const storyRoutes: FastifyPluginAsyncTypebox<StoryOptions> = async (app, options) => {
  const { store, transfers, directory, userDirectory } = options
  app.route({
    method: 'GET',
    url: '/transfers/:trackingId/story',
    ...app.viewers.allow('transfers:read'),
    schema: { hide: true, params: Type.Object({ trackingId: Type.String() }), response: { 200: StoryAnswer } },
    handler: async (request) => {
      const trackingId = request.params.trackingId.toLowerCase()
      requireOwn(request, (await transfers.find(trackingId))?.transfer.merchantId, 'unknown-transfer')
      const nameOf = actorNames(userDirectory, request.viewer)
      const story = await transferHistory(store, trackingId, { showsAccounts: request.viewer.merchantIds === null })
      const items = story.map((each) => ({ ...each, actor: nameOf(each.actor), data: named(each.data, nameOf) }))
      return { items }
    },
  })
  app.route({
    method: 'GET',
    url: '/changes',
    ...app.viewers.allow('users:read'),
    schema: {
      hide: true,
      querystring: Type.Object({ subject: Type.Optional(Type.String({ maxLength: 64 })) }),
      response: { 200: ChangesAnswer },
    },
    handler: async (request) => {
      const { subject } = request.query
      await userDirectory.catchUp()
      const of = (ids: Iterable<string>) => [...ids].filter((id) => subject === undefined || id === subject)
      const userIds = of(userDirectory.all().map(({ userId }) => userId))
      const changes = await changesOf(store, { merchantIds: of(directory.ids()), userIds })
      const nameOf = actorNames(userDirectory, request.viewer)
      return { items: changes.map((change) => ({ ...change, actor: nameOf(change.actor) })) }
    },
  })
}

/** Replaces user ids in claims and approvals by names. */
function named(data: { readonly [field: string]: unknown }, nameOf: (actor: string) => string) {
  return typeof data.by === 'string' ? { ...data, by: nameOf(data.by) } : data
}
