import { useState } from 'react'
import type { MerchantItem } from '../../../../../src/http/dashboard/api'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { Facts } from '../../components/Facts'
import { EnableEndpointDialog } from '../callbacks/EnableEndpointDialog'
import { TestEndpointDialog } from '../callbacks/TestEndpointDialog'

export function EndpointTab({ merchant }: { readonly merchant: MerchantItem }) {
  const text = useText()
  const canManage = usePermission('endpoints:manage')
  const [opened, setOpened] = useState<'test' | 'enable'>()
  const { merchantId, callbacksDisabled, endpointWarning, settings } = merchant
  const dialog = { endpoint: { merchantId, url: settings.callbackUrl }, onClose: () => setOpened(undefined) }
  const isOn = callbacksDisabled === null
  return (
    <Card title={text('fields.endpoint')}>
      {endpointWarning !== null && <div className="notice">{text(`merchants.endpoint.${endpointWarning}`)}</div>}
      <Facts
        items={[
          { label: text('fields.callbackUrl'), value: <bdi>{settings.callbackUrl}</bdi> },
          {
            label: text('fields.state'),
            value: (
              <Badge tone={isOn ? 'good' : 'off'}>
                {text(isOn ? 'merchants.callbacksEnabled' : 'merchants.callbacksDisabled')}
              </Badge>
            ),
          },
          { label: text('fields.reason'), value: isOn ? undefined : <bdi>{callbacksDisabled}</bdi> },
        ]}
      />
      {canManage && (
        <div className="row">
          <Button onPress={() => setOpened('test')}>{text('callbacks.test')}</Button>
          {!isOn && (
            <Button look="primary" onPress={() => setOpened('enable')}>
              {text('callbacks.enable')}
            </Button>
          )}
        </div>
      )}
      {opened === 'test' && <TestEndpointDialog {...dialog} />}
      {opened === 'enable' && <EnableEndpointDialog {...dialog} />}
    </Card>
  )
}
