import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { MerchantItem, MerchantsResponse } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'
import { Button } from '../../components/Button'
import { CopyableId } from '../../components/Copyable'
import { type Column, DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { Mark } from '../../components/Mark'
import { Page } from '../../components/Page'
import { Time } from '../../components/Time'
import { CreateMerchantDialog } from './CreateMerchantDialog'
import { MerchantState } from './MerchantState'

export function MerchantsPage() {
  const text = useText()
  const navigate = useNavigate()
  const canManage = usePermission('merchants:manage')
  const [isCreating, setCreating] = useState(false)
  const columns = useColumns()
  const query = useQuery({
    queryKey: ['merchants'],
    queryFn: ({ signal }) => api.get<MerchantsResponse>('/merchants', {}, signal),
  })
  const open = (merchantId: string) => void navigate({ to: '/merchants/$merchantId', params: { merchantId } })
  return (
    <Page
      title={text('merchants.title')}
      actions={
        canManage && (
          <Button look="primary" onPress={() => setCreating(true)}>
            {text('merchants.create')}
          </Button>
        )
      }
    >
      <Loaded query={query}>
        {({ items }) => (
          <DataTable
            label={text('merchants.title')}
            columns={columns}
            rows={items}
            rowId={({ merchantId }) => merchantId}
            onOpen={({ merchantId }) => open(merchantId)}
            empty={<Empty title={text('merchants.empty')}>{text('merchants.emptyHelp')}</Empty>}
          />
        )}
      </Loaded>
      {isCreating && <CreateMerchantDialog onClose={() => setCreating(false)} onCreated={open} />}
    </Page>
  )
}

function useColumns(): readonly Column<MerchantItem>[] {
  const text = useText()
  return [
    {
      id: 'name',
      header: text('fields.name'),
      card: 'title',
      cell: ({ merchantId, settings }) => (
        <span className="row">
          <Mark name={settings.name} />
          <Link to="/merchants/$merchantId" params={{ merchantId }}>
            <bdi>{settings.name}</bdi>
          </Link>
        </span>
      ),
    },
    {
      id: 'state',
      header: text('fields.state'),
      card: 'status',
      cell: (merchant) => <MerchantState merchant={merchant} />,
    },
    {
      id: 'callbacks',
      header: text('callbacks.title'),
      card: 'name',
      cell: ({ callbacksDisabled }) =>
        callbacksDisabled === null ? (
          <span className="faint">{text('merchants.callbacksEnabled')}</span>
        ) : (
          <Badge tone="off">{text('merchants.callbacksDisabled')}</Badge>
        ),
    },
    { id: 'keys', header: text('fields.keys'), align: 'end', cell: ({ keys }) => keys.length },
    { id: 'created', header: text('fields.createdAt'), card: 'end', cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      id: 'id',
      header: text('merchants.id'),
      optional: true,
      cell: ({ merchantId }) => <CopyableId value={merchantId} label={text('merchants.id')} />,
    },
  ]
}
