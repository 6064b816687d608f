import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/api-client'
import type { EndpointItem, EndpointsAnswer } from '../../api/contract'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Card } from '../../components/Card'
import { type Column, DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { Menu } from '../../components/Menu'
import { EnableEndpointDialog } from './EnableEndpointDialog'
import { EndpointHealth } from './EndpointHealth'
import { ResendParkedDialog } from './ResendParkedDialog'
import { TestEndpointDialog } from './TestEndpointDialog'

const worstFirst = ['disabled', 'failing', 'answering']
/** The server stops counting here. */
const maxCounted = 1000

type Task = 'test' | 'enable' | 'resend'

interface Opened {
  readonly task: Task
  readonly endpoint: EndpointItem
}

export function EndpointList({ merchantId }: { readonly merchantId: string | undefined }) {
  const text = useText()
  const [opened, setOpened] = useState<Opened>()
  const query = useQuery({
    queryKey: ['endpoints'],
    queryFn: ({ signal }) => api.get<EndpointsAnswer>('/endpoints', {}, signal),
    refetchInterval: 15_000,
  })
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
      cell: ({ waiting }) => <Count count={waiting} />,
    },
    { id: 'parked', header: text('fields.parked'), align: 'end', cell: ({ parked }) => <Count count={parked} /> },
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

function Count({ count }: { readonly count: number }) {
  const text = useText()
  return count >= maxCounted ? text('common.countOrMore', { count }) : text('common.count', { count })
}
