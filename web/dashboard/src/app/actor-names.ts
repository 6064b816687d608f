import { useMerchantName } from './merchant-names'
import { useText } from './texts'

/** Who did it, in words; a name stays what it is. */
export function useActorName(): (actor: string) => string {
  const text = useText()
  const merchantName = useMerchantName()
  return (actor) => {
    const [, role, name = ''] = /^([a-z]+)(?::(.*))?$/s.exec(actor) ?? []
    switch (role) {
      case 'customer':
        return text('transfer.actor.customer')
      case 'operator':
        return text('transfer.actor.operator')
      case 'merchant':
        return text('transfer.actor.merchant', { name: merchantName(name) })
      case 'system':
        return text('transfer.actor.system', { part: name })
      case 'cli':
        return text('transfer.actor.cli', { name })
      default:
        return actor
    }
  }
}
