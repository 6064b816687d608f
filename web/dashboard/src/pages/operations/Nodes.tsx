import { useQuery } from '@tanstack/react-query'
import type { LeaseItem, NodeItem, NodesResponse } from '../../../../../src/http/dashboard/operations/operations-api'
import { api } from '../../api/api-client'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'
import { Card } from '../../components/Card'
import { type Column, DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { Time } from '../../components/Time'

export function Nodes() {
  const text = useText()
  const query = useQuery({
    queryKey: ['nodes'],
    queryFn: ({ signal }) => api.get<NodesResponse>('/operations/nodes', {}, signal),
    refetchInterval: 10_000,
  })
  const nodeColumns = useNodeColumns()
  const leaseColumns = useLeaseColumns()
  return (
    <Card title={text('operations.nodes')}>
      <Loaded query={query}>
        {({ nodes, leases }) => (
          <>
            <DataTable
              label={text('operations.nodes')}
              columns={nodeColumns}
              rows={nodes}
              rowId={({ nodeId }) => nodeId}
              empty={<Empty title={text('operations.noNodes')} />}
            />
            <details className="Operations-leases" open={leases.some(({ nodeId }) => nodeId === null)}>
              <summary>
                <strong>{text('operations.leases')}</strong>{' '}
                <span className="muted">{text('operations.leasesOf', { count: leases.length })}</span>
              </summary>
              <p className="muted small">{text('operations.leasesHelp')}</p>
              <DataTable
                label={text('operations.leases')}
                columns={leaseColumns}
                rows={leases}
                rowId={({ name }) => name}
                empty={<Empty title={text('operations.noLeases')} />}
              />
            </details>
          </>
        )}
      </Loaded>
    </Card>
  )
}

function useNodeColumns(): readonly Column<NodeItem>[] {
  const text = useText()
  return [
    {
      id: 'node',
      header: text('fields.node'),
      card: 'title',
      cell: ({ nodeId, current }) => (
        <>
          <code>{nodeId}</code> {current && <Badge tone="accent">{text('operations.thisNode')}</Badge>}
        </>
      ),
    },
    {
      id: 'state',
      header: text('fields.state'),
      card: 'status',
      cell: ({ state }) => (
        <Badge tone={state === 'alive' ? 'good' : 'bad'}>{text(`operations.nodeState.${state}`)}</Badge>
      ),
    },
    { id: 'roles', header: text('operations.roles'), wide: true, card: 'name', cell: ({ roles }) => roles.join(', ') },
    { id: 'seen', header: text('fields.lastSeenAt'), card: 'end', cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
    { id: 'started', header: text('fields.startedAt'), cell: ({ startedAt }) => <Time at={startedAt} /> },
    { id: 'version', header: text('fields.version'), cell: ({ version }) => version },
  ]
}

function useLeaseColumns(): readonly Column<LeaseItem>[] {
  const text = useText()
  return [
    { id: 'name', header: text('operations.lease'), card: 'title', cell: ({ name }) => <code>{name}</code> },
    {
      id: 'node',
      header: text('operations.runsOn'),
      wide: true,
      card: 'name',
      cell: ({ nodeId }) =>
        nodeId === null ? <Badge tone="wait">{text('operations.noNode')}</Badge> : <code>{nodeId}</code>,
    },
    {
      id: 'renewed',
      header: text('operations.renewed'),
      card: 'end',
      cell: ({ renewedAt }) => <Time at={renewedAt} />,
    },
  ]
}
