import type { MerchantItem } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Confirm } from '../../components/Confirm'
import { notify } from '../../components/Toasts'

interface SuspendDialogProps {
  readonly merchant: MerchantItem
  readonly onClose: () => void
}

export function SuspendDialog({ merchant, onClose }: SuspendDialogProps) {
  const text = useText()
  const { merchantId, suspended, settings } = merchant
  const change = suspended ? 'resume' : 'suspend'
  const action = useAction<void, MerchantItem>({
    run: () => api.send<MerchantItem>('POST', `/merchants/${merchantId}/${change}`),
    refresh: [['merchant', merchantId], ['merchants'], ['changes']],
    onSuccess: () => {
      notify(text(`merchants.${change}Done`, { name: settings.name }))
      onClose()
    },
  })
  return (
    <Confirm
      title={text(`merchants.${change}Title`, { name: settings.name })}
      open
      onClose={onClose}
      onConfirm={() => action.start()}
      confirm={text(`merchants.${change}`)}
      danger={!suspended}
      pending={action.pending}
      error={action.error}
    >
      <p>{text(`merchants.${change}Help`)}</p>
    </Confirm>
  )
}
