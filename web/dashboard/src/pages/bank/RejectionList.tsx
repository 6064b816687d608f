import { Ban } from 'lucide-react'
import type { BankFileResponse } from '../../../../../src/http/dashboard/bank/bank-api'
import { useKnownText, useText } from '../../app/texts'
import { Badge } from '../../components/Badge'
import { useRefusalText } from '../../components/shown-refusals'
import { TransferLink } from '../../components/TransferLink'

/** Shows the payments that the bank does not carry out, each with the bank's reason. */
export function RejectionList({ rejections }: Pick<BankFileResponse, 'rejections'>) {
  const text = useText()
  const known = useKnownText()
  const refusalText = useRefusalText()
  if (rejections.length === 0) return null
  return (
    <section className="BankFile-group" aria-labelledby="bank-rejected">
      <h3 id="bank-rejected">{text('bank.group.rejected', { count: rejections.length })}</h3>
      <ul className="BankFile-outcomes">
        {rejections.map(({ fileId, endToEndId, reasonCode, reasonText, isApplied, proposals }) => (
          <li key={`${fileId} ${endToEndId}`} data-refused>
            <Ban className="icon-14" />
            <span>
              {proposals.length === 0 && <bdi>{endToEndId ?? fileId ?? text('bank.nameless')}</bdi>}
              {proposals.map(({ trackingId, referenceId, name, refusal }) => (
                <span key={trackingId} className="BankFile-rejected">
                  <TransferLink trackingId={trackingId} referenceId={referenceId} /> <bdi>{name}</bdi>{' '}
                  {refusal && <bdi className="faint">{refusalText({ ...refusal, message: refusal.rule })}</bdi>}
                </span>
              ))}
              <bdi>
                {[reasonCode, known(`fields.reasonCode.${reasonCode}`), reasonText]
                  .filter((each) => each !== null && each !== undefined)
                  .join(', ')}
              </bdi>{' '}
              {isApplied && <Badge tone="good">{text('bank.recorded')}</Badge>}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
