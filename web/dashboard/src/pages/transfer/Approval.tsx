import { useIntl } from 'react-intl'
import type { TransferDetail } from '../../api/contract'
import { useText } from '../../app/texts'
import { useServerWords } from '../../components/server-words'
import { exactTime } from '../../components/Time'

export function Approval({ approval: { needed, by } }: Pick<TransferDetail, 'approval'>) {
  const text = useText()
  const { name } = useServerWords()
  const intl = useIntl()
  if (by) return <bdi>{text('transfer.approvedBy', { name: name(by.name), at: exactTime(intl, by.at) })}</bdi>
  if (needed) return <span className="notice">{text('transfer.approvalNeeded')}</span>
  return text('transfer.approvalNotNeeded')
}
