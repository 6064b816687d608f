import type { MerchantItem } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Confirm } from '../../components/Confirm'
import { notify } from '../../components/Toasts'
import type { EndpointDialogProps } from './TestEndpointDialog'

export function EnableEndpointDialog({ endpoint, onClose }: EndpointDialogProps) {
  const text = useText()
  const action = useAction<void, MerchantItem>({
    run: () => api.send<MerchantItem>('POST', `/merchants/${endpoint.merchantId}/endpoint/enable`),
    refresh: [['endpoints'], ['callbacks'], ['merchant', endpoint.merchantId]],
    onSuccess: () => {
      notify(text('callbacks.enabled'))
      onClose()
    },
  })
  return (
    <Confirm
      title={text('callbacks.enableTitle')}
      open
      onClose={onClose}
      onConfirm={() => action.start()}
      confirm={text('callbacks.enable')}
      pending={action.pending}
      error={action.error}
    >
      <p>{text('callbacks.enableHelp')}</p>
      <p>
        <bdi className="EndpointList-url">{endpoint.url}</bdi>
      </p>
    </Confirm>
  )
}
