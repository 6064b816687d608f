import { useCallback, useContext } from 'react'
import { SessionContext } from './current-session'
import { useText } from './texts'

/** Returns the display name of an actor such as `merchant:<id>`. Names of people are returned unchanged. */
export function useActorName(): (actor: string) => string {
  const text = useText()
  const merchants = useContext(SessionContext)?.merchants
  return useCallback(
    (actor) => {
      const [, role, name = ''] = /^([a-z]+)(?::(.*))?$/s.exec(actor) ?? []
      switch (role) {
        case 'customer':
          return text('common.actor.customer')
        case 'operator':
          return text('common.actor.operator')
        case 'merchant':
          return text('common.actor.merchant', {
            name: merchants?.find(({ merchantId }) => merchantId === name)?.name ?? name,
          })
        case 'system':
          return text('common.actor.system', { part: name })
        case 'cli':
          return text('common.actor.cli', { name })
        case 'user':
          return text('common.actor.former')
        default:
          return actor
      }
    },
    [text, merchants],
  )
}
