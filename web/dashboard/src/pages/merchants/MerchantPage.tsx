import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import type { MerchantItem } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { CopyableId } from '../../components/Copyable'
import { Loaded } from '../../components/Loaded'
import { Page } from '../../components/Page'
import { Tabs } from '../../components/Tabs'
import { Time } from '../../components/Time'
import { ChangeHistory } from '../users/ChangeHistory'
import { EndpointTab } from './EndpointTab'
import { KeysTab } from './KeysTab'
import { LogoCard } from './LogoCard'
import { MerchantState } from './MerchantState'
import { ProposedThreshold } from './ProposedThreshold'
import { SettingsFacts } from './SettingsFacts'
import { SettingsForm } from './SettingsForm'
import { SuspendDialog } from './SuspendDialog'
import './MerchantsPage.css'

const route = getRouteApi('/pages/merchants/$merchantId')

export function MerchantPage() {
  const text = useText()
  const { merchantId } = route.useParams()
  const canManage = usePermission('merchants:manage')
  const [isConfirming, setConfirming] = useState(false)
  const query = useQuery({
    queryKey: ['merchant', merchantId],
    queryFn: ({ signal }) => api.get<MerchantItem>(`/merchants/${merchantId}`, {}, signal),
  })
  const merchant = query.data
  return (
    <Page
      title={merchant?.settings.name ?? text('fields.merchantId')}
      actions={
        merchant &&
        canManage && (
          <Button look={merchant.suspended ? 'primary' : 'bad'} onPress={() => setConfirming(true)}>
            {text(merchant.suspended ? 'merchants.resume' : 'merchants.suspend')}
          </Button>
        )
      }
    >
      <Loaded query={query}>{(item) => <Merchant merchant={item} />}</Loaded>
      {merchant && isConfirming && <SuspendDialog merchant={merchant} onClose={() => setConfirming(false)} />}
    </Page>
  )
}

function Merchant({ merchant }: { readonly merchant: MerchantItem }) {
  const text = useText()
  const canManage = usePermission('merchants:manage')
  const canReadChanges = usePermission('users:read')
  const { merchantId, createdAt, proposedThreshold } = merchant
  const Settings = canManage ? SettingsForm : SettingsFacts
  // A proposal restarts the form with the settings that still apply.
  const settings = (
    <div className="MerchantPage-settings stack">
      <Settings key={proposedThreshold?.at} merchant={merchant} />
      {canManage && <LogoCard merchant={merchant} />}
    </div>
  )
  const changes = {
    id: 'changes',
    label: text('merchants.history'),
    content: <ChangeHistory subject={merchantId} />,
  }
  return (
    <>
      <div className="row">
        <MerchantState merchant={merchant} />
        <CopyableId value={merchantId} label={text('merchants.id')} />
        <span className="muted">
          {text('fields.createdAt')}: <Time at={createdAt} />
        </span>
      </div>
      <ProposedThreshold merchant={merchant} />
      <Tabs
        label={text('merchants.sections')}
        items={[
          { id: 'settings', label: text('fields.settings'), content: settings, keep: true },
          { id: 'endpoint', label: text('fields.endpoint'), content: <EndpointTab merchant={merchant} /> },
          { id: 'keys', label: text('fields.keys'), content: <KeysTab merchant={merchant} /> },
          ...(canReadChanges ? [changes] : []),
        ]}
      />
    </>
  )
}
