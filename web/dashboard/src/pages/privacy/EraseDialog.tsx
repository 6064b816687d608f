import { useState } from 'react'
import type {
  CustomerRequest,
  EraseCustomerRequest,
  ErasureResponse,
} from '../../../../../src/http/dashboard/privacy/privacy-api'
import { api } from '../../api/api-client'
import { useMerchantName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { CopyableId } from '../../components/Copyable'
import { Dialog } from '../../components/Dialog'
import { Facts } from '../../components/Facts'
import { ReasonDialog } from '../../components/ReasonDialog'
import { TextField } from '../../components/TextField'
import { Time } from '../../components/Time'

interface EraseDialogProps {
  readonly customer: CustomerRequest
  readonly onClose: () => void
}

/** Erases a customer's data. Because this is permanent, the customer's ID must be typed again. */
export function EraseDialog({ customer, onClose }: EraseDialogProps) {
  const text = useText()
  const merchantName = useMerchantName()
  const { merchantId, userId } = customer
  const [erasure, setErasure] = useState<ErasureResponse>()
  if (erasure)
    return (
      <Dialog title={text('privacy.erasedTitle')} open onClose={onClose}>
        <ErasureResult erasure={erasure} onClose={onClose} />
      </Dialog>
    )
  return (
    <ReasonDialog
      title={text('privacy.eraseTitle')}
      submit={text('privacy.eraseSubmit')}
      reasonHelp={text('privacy.reasonHelp')}
      run={(reason) => {
        const body: EraseCustomerRequest = { merchantId, userId, reason }
        return api.send<ErasureResponse>('POST', '/privacy/erase', body)
      }}
      refresh={[['privacy-status']]}
      onSuccess={setErasure}
      onClose={onClose}
    >
      <Facts
        items={[
          { label: text('fields.merchantId'), value: <bdi>{merchantName(merchantId)}</bdi> },
          { label: text('fields.userId'), value: <code>{userId}</code> },
        ]}
      />
      <p>{text('privacy.eraseHelp')}</p>
      <TextField
        name="again"
        label={text('privacy.userIdAgain')}
        validate={(typed) => (typed === userId ? null : text('privacy.userIdDiffers'))}
        autoComplete="off"
        required
      />
    </ReasonDialog>
  )
}

function ErasureResult({ erasure, onClose }: { readonly erasure: ErasureResponse; readonly onClose: () => void }) {
  const text = useText()
  const { erasureId, erasedAt, transfers, receipts } = erasure
  const count = (value: number) => text('common.count', { count: value })
  return (
    <div className="stack">
      <output>{text('privacy.erasedHelp')}</output>
      <Facts
        items={[
          {
            label: text('privacy.erasureId'),
            value: <CopyableId value={erasureId} label={text('privacy.erasureId')} />,
          },
          { label: text('privacy.erasedAt'), value: <Time at={erasedAt} exact /> },
          { label: text('privacy.transfers'), value: count(transfers) },
          { label: text('privacy.receipts'), value: count(receipts) },
        ]}
      />
      <p>{text('privacy.remainsHelp')}</p>
      <div className="row">
        <Button look="primary" onPress={onClose}>
          {text('common.close')}
        </Button>
      </div>
    </div>
  )
}
