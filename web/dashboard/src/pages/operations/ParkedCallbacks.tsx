import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { EndpointItem } from '../../../../../src/http/dashboard/api'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { CappedCount } from '../../components/CappedCount'
import { Card } from '../../components/Card'
import { type Column, DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { EndpointHealth } from '../callbacks/EndpointHealth'
import { ResendParkedDialog } from '../callbacks/ResendParkedDialog'
import { useEndpoints } from '../callbacks/use-endpoints'

/** Lists merchants with callbacks that could not be delivered and were parked. */
export function ParkedCallbacks() {
  const text = useText()
  const canResend = usePermission('callbacks:resend')
  const [opened, setOpened] = useState<EndpointItem>()
  const query = useEndpoints()
  const columns = useColumns(canResend, setOpened)
  return (
    <Card title={text('operations.parked')}>
      <Loaded query={query}>
        {({ items }) => (
          <DataTable
            label={text('operations.parked')}
            columns={columns}
            rows={items.filter(({ parked }) => parked > 0)}
            rowId={({ merchantId }) => merchantId}
            empty={<Empty title={text('operations.nothingParked')} />}
          />
        )}
      </Loaded>
      {opened && <ResendParkedDialog endpoint={opened} onClose={() => setOpened(undefined)} />}
    </Card>
  )
}

function useColumns(canResend: boolean, resend: (endpoint: EndpointItem) => void): readonly Column<EndpointItem>[] {
  const text = useText()
  const columns: Column<EndpointItem>[] = [
    {
      id: 'merchant',
      header: text('fields.merchantId'),
      card: 'title',
      cell: ({ merchantName }) => <bdi>{merchantName}</bdi>,
    },
    {
      id: 'parked',
      header: text('fields.parked'),
      card: 'status',
      align: 'end',
      cell: ({ merchantId, parked }) => (
        <Link to="/callbacks" search={{ merchantId, status: 'parked' }}>
          <CappedCount count={parked} />
        </Link>
      ),
    },
    {
      id: 'state',
      header: text('fields.endpoint'),
      wide: true,
      card: 'name',
      cell: (item) => (
        <span className="row">
          <EndpointHealth endpoint={item} />
        </span>
      ),
    },
  ]
  if (!canResend) return columns
  const cell = (endpoint: EndpointItem) => (
    <Button onPress={() => resend(endpoint)}>{text('callbacks.resendParked')}</Button>
  )
  return [...columns, { id: 'actions', header: text('common.actions'), card: 'under', cell }]
}
