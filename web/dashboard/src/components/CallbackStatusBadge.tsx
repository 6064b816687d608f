import type { CallbackRow } from '../../../../src/http/dashboard/api'
import { useText } from '../app/texts'
import { Badge } from './Badge'

const tones = { waiting: 'wait', parked: 'bad', delivered: 'good' } as const

export function CallbackStatusBadge({ status }: Pick<CallbackRow, 'status'>) {
  const text = useText()
  return <Badge tone={tones[status]}>{text(`callbacks.status.${status}`)}</Badge>
}
