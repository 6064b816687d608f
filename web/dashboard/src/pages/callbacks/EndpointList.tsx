import { useState } from 'react'
import type { EndpointItem } from '../../api/contract'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { CappedCount } from '../../components/CappedCount'
import { Card } from '../../components/Card'
import { type Column, DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { Menu } from '../../components/Menu'
import { EnableEndpointDialog } from './EnableEndpointDialog'
import { EndpointHealth } from './EndpointHealth'
import { ResendParkedDialog } from './ResendParkedDialog'
import { TestEndpointDialog } from './TestEndpointDialog'
import { useEndpoints } from './use-endpoints'

const worstFirst = ['disabled', 'failing', 'answering']

type Task = 'test' | 'enable' | 'resend'

interface Opened {
  readonly task: Task
  readonly endpoint: EndpointItem
}

export function EndpointList({ merchantId }: { readonly merchantId: string | undefined }) {
  const text = useText()
  const [opened, setOpened] = useState<Opened>()
  const query = useEndpoints()
  const columns = useColumns((task, endpoint) => setOpened({ task, endpoint }))
  const dialog = opened && { endpoint: opened.endpoint, onClose: () => setOpened(undefined) }
  return (
    <Card title={text('callbacks.endpoints')}>
      <Loaded query={query}>
        {({ items }) => (
          <DataTable
            label={text('callbacks.endpoints')}
            columns={columns}
            rows={shown(items, merchantId)}
            rowId={(endpoint) => endpoint.merchantId}
            empty={<Empty title={text('callbacks.noEndpoints')}>{text('callbacks.noEndpointsHelp')}</Empty>}
          />
        )}
      </Loaded>
      {opened?.task === 'test' && dialog && <TestEndpointDialog {...dialog} />}
      {opened?.task === 'enable' && dialog && <EnableEndpointDialog {...dialog} />}
      {opened?.task === 'resend' && dialog && <ResendParkedDialog {...dialog} />}
    </Card>
  )
}

function shown(items: readonly EndpointItem[], merchantId: string | undefined): readonly EndpointItem[] {
  return items
    .filter((item) => merchantId === undefined || item.merchantId === merchantId)
    .sort((a, b) => worstFirst.indexOf(a.state) - worstFirst.indexOf(b.state))
}

function useColumns(open: (task: Task, endpoint: EndpointItem) => void): readonly Column<EndpointItem>[] {
  const text = useText()
  const canManage = usePermission('endpoints:manage')
  const canResend = usePermission('callbacks:resend')
  const columns: Column<EndpointItem>[] = [
    { id: 'merchant', header: text('fields.merchantId'), cell: ({ merchantName }) => <bdi>{merchantName}</bdi> },
    { id: 'state', header: text('callbacks.health'), cell: (endpoint) => <EndpointHealth endpoint={endpoint} /> },
    {
      id: 'waiting',
      header: text('fields.waiting'),
      align: 'end',
      cell: ({ waiting }) => <CappedCount count={waiting} />,
    },
    { id: 'parked', header: text('fields.parked'), align: 'end', cell: ({ parked }) => <CappedCount count={parked} /> },
    {
      id: 'url',
      header: text('fields.callbackUrl'),
      wide: true,
      cell: ({ url }) => <bdi className="EndpointList-url">{url}</bdi>,
    },
  ]
  if (!canManage && !canResend) return columns
  const cell = (endpoint: EndpointItem) => (
    <Menu
      label={text('common.actions')}
      items={[
        ...(canManage ? [{ id: 'test', label: text('callbacks.test'), onAction: () => open('test', endpoint) }] : []),
        ...(canManage && endpoint.state === 'disabled'
          ? [{ id: 'enable', label: text('callbacks.enable'), onAction: () => open('enable', endpoint) }]
          : []),
        ...(canResend
          ? [{ id: 'resend', label: text('callbacks.resendParked'), onAction: () => open('resend', endpoint) }]
          : []),
      ]}
    />
  )
  return [...columns, { id: 'actions', header: text('common.actions'), cell }]
}
