import type { UserDirectory } from '../../commands/user/user-directory.js'
import type { Viewer } from './session-guard.js'

/**
 * As whom a viewer may know the actor of an event: users by their names; who works for the house is the house's to know, and an
 * `operator` to merchants. Others stay as the log has them: pages say in their language what `customer` or `system:expiry` is.
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
