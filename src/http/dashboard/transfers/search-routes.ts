import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { MerchantDirectory } from '../../../commands/merchant/merchant-directory.js'
import type { TransferCommands } from '../../../commands/transfer/transfers.js'
import type { UserCommands, UserDirectory } from '../../../commands/user/user-commands.js'
import { isAllowed } from '../../../domain/user/permissions.js'
import { Type } from '../../../kernel/typebox.js'
import { search } from '../../../queries/search.js'
import type { ReadModels } from '../../../read-models/read-models.js'
import { SearchAnswer } from '../api.js'

export interface SearchOptions {
  readonly transfers: TransferCommands
  readonly readModels: ReadModels
  readonly directory: MerchantDirectory
  readonly users: UserCommands
  readonly userDirectory: UserDirectory
}

/** Adds the search of the command palette. */
export const searchRoutes: FastifyPluginAsyncTypebox<SearchOptions> = async (app, options) => {
  const { transfers, readModels, directory, users, userDirectory } = options
  app.route({
    method: 'GET',
    url: '/search',
    ...app.viewers.allow('transfers:read'),
    schema: {
      hide: true,
      querystring: Type.Object({ text: Type.String({ minLength: 1, maxLength: 128 }) }),
      response: { 200: SearchAnswer },
    },
    handler: async (request) => {
      const seen = directory.all().filter(({ merchantId }) => app.viewers.sees(request, merchantId))
      const merchants = seen.map(({ merchantId: id, settings: { name } }) => ({ id, name, also: id }))
      const people = isAllowed(request.viewer.role, 'users:read') ? userDirectory.all() : []
      const known = people.map((user) => ({ id: user.userId, name: user.name, also: users.shownEmailOf(user) }))
      const items = await search({ transfers, readModels, merchants, users: known }, request.query.text)
      return { items: [...items] }
    },
  })
}
