import { api } from '../../api/api-client'
import type { MerchantItem } from '../../api/contract'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Confirm } from '../../components/Confirm'
import { notify } from '../../components/Toasts'

interface SuspendConfirmProps {
  readonly merchant: MerchantItem
  readonly onClose: () => void
}

export function SuspendDialog({ merchant, onClose }: SuspendConfirmProps) {
  const text = useText()
  const { merchantId, suspended, settings } = merchant
  const does = suspended ? 'resume' : 'suspend'
  const action = useAction<void, MerchantItem>({
    run: () => api.send<MerchantItem>('POST', `/merchants/${merchantId}/${does}`),
    refresh: [['merchant', merchantId], ['merchants'], ['changes']],
    done: () => {
      notify(text(`merchants.${does}Done`, { name: settings.name }))
      onClose()
    },
  })
  return (
    <Confirm
      title={text(`merchants.${does}Title`, { name: settings.name })}
      open
      onClose={onClose}
      onConfirm={() => action.start()}
      confirm={text(`merchants.${does}`)}
      danger={!suspended}
      pending={action.pending}
      error={action.error}
    >
      <p>{text(`merchants.${does}Help`)}</p>
    </Confirm>
  )
}
