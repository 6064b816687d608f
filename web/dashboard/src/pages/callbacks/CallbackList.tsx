import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { CallbackRow, ResendRequest, ResendResponse } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { usePages } from '../../api/use-pages'
import { usePermission } from '../../app/current-session'
import { useMerchantName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { StatusBadge } from '../../components/Badge'
import { Button } from '../../components/Button'
import { CallbackStatusBadge } from '../../components/CallbackStatusBadge'
import { Card } from '../../components/Card'
import { type Column, DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import { Filters } from '../../components/Filters'
import { Loaded } from '../../components/Loaded'
import { Problem } from '../../components/Problem'
import { DueTime, Time } from '../../components/Time'
import { notify } from '../../components/Toasts'
import { useFailureName } from '../../components/use-failure-name'

const route = getRouteApi('/pages/callbacks')

const statuses = ['waiting', 'parked', 'delivered'] as const
/** The maximum number of callbacks per request. */
const maxSelected = 200

export function CallbackList({ merchantId }: { readonly merchantId: string | undefined }) {
  const text = useText()
  const { status, trackingId } = route.useSearch()
  const navigate = route.useNavigate()
  const canResend = usePermission('callbacks:resend')
  const search = { merchantId, status, trackingId, limit: '50' }
  const { items, query, more } = usePages<CallbackRow>(['callbacks', search], '/callbacks', search)
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const selected = items.filter(({ webhookId }) => ids.has(webhookId))
  const columns = useColumns()
  const resend = useResend(() => setIds(new Set()))
  return (
    <Card
      title={text('callbacks.list')}
      actions={
        canResend && (
          <Button
            isDisabled={selected.length === 0 || selected.length > maxSelected}
            pending={resend.pending}
            onPress={() => resend.start(selected)}
          >
            {text('callbacks.resendSelected', { count: selected.length })}
          </Button>
        )
      }
    >
      <Filters
        values={{ status, trackingId }}
        onChange={(values) =>
          void navigate({
            search: (previous) => ({ ...previous, status: undefined, trackingId: undefined, ...values }),
          })
        }
        fields={[
          {
            name: 'status',
            label: text('fields.status'),
            type: 'select',
            options: statuses.map((value) => ({ value, label: text(`callbacks.status.${value}`) })),
          },
          { name: 'trackingId', label: text('fields.trackingId'), type: 'text' },
        ]}
      />
      <Problem error={resend.error} />
      <Loaded query={query}>
        {() => (
          <DataTable
            label={text('callbacks.list')}
            columns={columns}
            rows={items}
            rowId={({ webhookId }) => webhookId}
            {...(canResend && { selection: { ids, onChange: setIds } })}
            {...(more && { more })}
            columnsKey="callbacks"
            empty={<Empty title={text('callbacks.empty')}>{text('callbacks.emptyHelp')}</Empty>}
          />
        )}
      </Loaded>
    </Card>
  )
}

function useResend(onResent: () => void) {
  const text = useText()
  return useAction({
    run: (rows: readonly CallbackRow[]) => {
      const body: ResendRequest = { callbacks: rows.map(({ trackingId, webhookId }) => ({ trackingId, webhookId })) }
      return api.send<ResendResponse>('POST', '/callbacks/resend', body)
    },
    refresh: [['callbacks'], ['endpoints']],
    onSuccess: ({ requeued }) => {
      notify(text('callbacks.resent', { count: requeued }))
      onResent()
    },
  })
}

function useColumns(): readonly Column<CallbackRow>[] {
  const text = useText()
  const failureName = useFailureName()
  const merchantName = useMerchantName()
  return [
    {
      id: 'transfer',
      header: text('fields.transfer'),
      card: 'name',
      cell: ({ trackingId, referenceId }) => (
        <Link to="/transfers/$trackingId" params={{ trackingId }}>
          {referenceId}
        </Link>
      ),
    },
    {
      id: 'merchant',
      header: text('fields.merchantId'),
      optional: true,
      cell: (row) => <bdi>{merchantName(row.merchantId)}</bdi>,
    },
    {
      id: 'transferStatus',
      header: text('fields.transferStatus'),
      card: 'title',
      cell: (row) => <StatusBadge status={row.transferStatus} />,
    },
    {
      id: 'status',
      header: text('fields.status'),
      card: 'status',
      cell: ({ status }) => <CallbackStatusBadge status={status} />,
    },
    { id: 'attempts', header: text('callbacks.failedAttempts'), align: 'end', cell: (row) => row.failedAttempts },
    {
      id: 'recorded',
      header: text('fields.recordedAt'),
      card: 'end',
      cell: ({ recordedAt }) => <Time at={recordedAt} />,
    },
    {
      id: 'due',
      header: text('fields.nextAttemptAt'),
      optional: true,
      cell: ({ dueAt }) => dueAt !== null && <DueTime at={dueAt} />,
    },
    {
      id: 'failure',
      header: text('fields.lastFailure'),
      wide: true,
      card: 'under',
      cell: ({ lastFailure }) => lastFailure !== null && failureName(lastFailure),
    },
  ]
}
