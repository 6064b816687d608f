import { useIntl } from 'react-intl'
import { useSession } from '../../app/current-session'
import { useText } from '../../app/texts'
import type { Option } from '../../components/Select'
import { useUsers } from '../users/use-users'

const kinds = ['user', 'merchant', 'customer', 'cli', 'system'] as const

/** Returns the actors to filter by: all of a kind, such as `user:`, followed by every user and merchant. */
export function useActorOptions(): readonly Option[] {
  const text = useText()
  const { merchants } = useSession()
  const { data } = useUsers()
  return [
    ...kinds.map((kind) => ({
      value: kind === 'customer' ? kind : `${kind}:`,
      label: text(`audit.actorKind.${kind}`),
    })),
    ...(data?.items ?? []).map(({ userId, name }) => ({ value: `user:${userId}`, label: name })),
    ...merchants.map(({ merchantId, name }) => ({
      value: `merchant:${merchantId}`,
      label: text('common.actor.merchant', { name }),
    })),
  ]
}

/** Returns all event types that have a display name, sorted by it. */
export function useEventTypeOptions(): readonly Option[] {
  const { messages, formatMessage, locale } = useIntl()
  const types = Object.keys(messages).flatMap((id) => {
    const [, type] = /^events\.(.+)$/.exec(id) ?? []
    return type === undefined ? [] : [{ value: type, label: formatMessage({ id }) }]
  })
  return types.sort((a, b) => a.label.localeCompare(b.label, locale))
}
