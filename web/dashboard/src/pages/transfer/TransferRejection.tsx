import { Ban } from 'lucide-react'
import type { TransferDetail } from '../../../../../src/http/dashboard/api'
import { useKnownText, useText } from '../../app/texts'
import { Time } from '../../components/Time'

/** Shows why the bank does not pay a withdrawal, and what can be done about it. */
export function TransferRejection({ detail: { rejection, actions } }: { readonly detail: TransferDetail }) {
  const text = useText()
  const known = useKnownText()
  if (!rejection) return null
  const { reasonCode, reasonText, at } = rejection
  const words = [reasonCode, known(`fields.reasonCode.${reasonCode}`), reasonText]
  return (
    <div className="notice TransferRejection">
      <Ban />
      <div>
        <p className="strong">
          {text('transfer.rejected')} <Time at={at} />
        </p>
        <p>
          <bdi>{words.filter((each) => each !== null && each !== undefined).join(', ')}</bdi>
        </p>
        <p>{text('transfer.rejectedHelp')}</p>
        {!actions.includes('resolve') && <p>{text('transfer.attentionWait')}</p>}
      </div>
    </div>
  )
}
