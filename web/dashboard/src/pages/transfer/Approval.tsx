import { useIntl } from 'react-intl'
import type { TransferDetail } from '../../../../../src/http/dashboard/api'
import { useActorName } from '../../app/actor-names'
import { useText } from '../../app/texts'
import { exactTime } from '../../components/Time'
import './Approval.css'

export function Approval({ approval: { needed, by } }: Pick<TransferDetail, 'approval'>) {
  const text = useText()
  const actorName = useActorName()
  const intl = useIntl()
  if (by) return <bdi>{text('transfer.approvedBy', { name: actorName(by.name), at: exactTime(intl, by.at) })}</bdi>
  if (needed) return <span className="Approval-needed">{text('transfer.approvalNeeded')}</span>
  return text('transfer.approvalNotNeeded')
}
