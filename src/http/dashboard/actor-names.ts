import type { UserDirectory } from '../../commands/user/user-commands.js'
import type { Viewer } from './session-guard.js'

/**
 * Returns the name under which a viewer can see the actor of an event. Merchants see the operator's staff as `operator`. Other actors stay
 * as recorded in the log, and the pages translate `customer` or `system:expiry`.
 */
export function actorNames(
  users: Pick<UserDirectory, 'byId'>,
  { merchantIds }: Pick<Viewer, 'merchantIds'>,
): (actor: string) => string {
  const isHouse = merchantIds === null
  return (actor) => {
    const [, kind, id = ''] = /^(user|cli):(.*)$/s.exec(actor) ?? []
    if (kind === undefined) return actor
    if (kind === 'cli') return isHouse ? actor : 'operator'
    const user = users.byId(id)
    if (!isHouse && (!user || user.merchantIds === null)) return 'operator'
    return user?.name ?? actor
  }
}
