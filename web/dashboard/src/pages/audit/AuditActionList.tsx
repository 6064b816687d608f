import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { AuditAction, AuditActionsResponse } from '../../../../../src/http/dashboard/audit/audit-api'
import { api } from '../../api/api-client'
import type { ApiError } from '../../api/api-error'
import { useActorName } from '../../app/actor-names'
import { useEventName } from '../../app/event-names'
import { useMerchantName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Card } from '../../components/Card'
import { type Column, DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import { Filters } from '../../components/Filters'
import { Loaded } from '../../components/Loaded'
import { Time } from '../../components/Time'
import { useActorOptions, useEventTypeOptions } from './action-filters'

const route = getRouteApi('/pages/audit')

/** Lists the actions of users, merchants and the service, oldest first, filtered by actor, type and time. */
export function AuditActionList() {
  const text = useText()
  const { actor, type, from, to } = route.useSearch()
  const navigate = route.useNavigate()
  const filters = { actor, type, from, to }
  const query = useActions(filters)
  const columns = useColumns()
  const actors = useActorOptions()
  const types = useEventTypeOptions()
  return (
    <Card title={text('audit.view.actions')}>
      <Filters
        values={filters}
        onChange={(values) => void navigate({ search: (previous) => ({ ...previous, ...values }) })}
        fields={[
          { name: 'actor', label: text('audit.who'), type: 'select', options: actors },
          { name: 'type', label: text('audit.what'), type: 'select', options: types },
          { type: 'dates', from: 'from', to: 'to' },
        ]}
      />
      <Loaded query={query}>
        {({ pages }) => {
          const items = pages.flatMap((page) => page.items)
          const searchedUpTo = pages.at(-1)?.lookedUpTo ?? null
          return (
            <>
              {query.hasNextPage && searchedUpTo !== null && (
                <output className="muted small">
                  {text('audit.searchedUpTo')} <Time at={searchedUpTo} exact />
                </output>
              )}
              <DataTable
                label={text('audit.view.actions')}
                columns={columns}
                rows={items}
                rowId={({ stream, revision }) => `${stream}@${revision}`}
                columnsKey="audit-actions"
                {...(query.hasNextPage && {
                  more: { onMore: () => void query.fetchNextPage(), pending: query.isFetchingNextPage },
                })}
                empty={<Empty title={text('audit.noActions')}>{text('audit.noActionsHelp')}</Empty>}
              />
            </>
          )
        }}
      </Loaded>
    </Card>
  )
}

type ActionFilters = { readonly [name in 'actor' | 'type' | 'from' | 'to']: string | undefined }

function useActions(filters: ActionFilters) {
  return useInfiniteQuery<
    AuditActionsResponse,
    ApiError,
    { readonly pages: AuditActionsResponse[] },
    readonly unknown[],
    string
  >({
    queryKey: ['audit-actions', filters],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) =>
      api.get<AuditActionsResponse>('/audit/actions', { ...filters, cursor: pageParam }, signal),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    refetchOnWindowFocus: false,
  })
}

function useColumns(): readonly Column<AuditAction>[] {
  const text = useText()
  const eventName = useEventName()
  const actorName = useActorName()
  const merchantName = useMerchantName()
  return [
    { id: 'at', header: text('audit.when'), card: 'end', cell: ({ recordedAt }) => <Time at={recordedAt} exact /> },
    {
      id: 'who',
      header: text('audit.who'),
      card: 'status',
      cell: (row) => <bdi>{actorName(row.actorName)}</bdi>,
    },
    {
      id: 'what',
      header: text('audit.what'),
      card: 'name',
      cell: ({ type }) => eventName(type),
    },
    {
      id: 'about',
      header: text('audit.about'),
      card: 'under',
      cell: ({ trackingId, stream }) =>
        trackingId === null ? (
          <code className="Audit-stream" title={stream}>
            {stream}
          </code>
        ) : (
          <Link to="/audit" search={{ view: 'transfer', id: trackingId }}>
            <code>{trackingId}</code>
          </Link>
        ),
    },
    {
      id: 'merchant',
      header: text('fields.merchantId'),
      cell: ({ merchantId }) => merchantId !== null && <bdi>{merchantName(merchantId)}</bdi>,
    },
    {
      id: 'event',
      header: text('fields.event'),
      optional: true,
      cell: ({ stream, revision }) => <code>{`${stream}@${revision}`}</code>,
    },
    { id: 'actor', header: text('fields.actor'), optional: true, cell: ({ actor }) => <code>{actor}</code> },
    { id: 'position', header: text('fields.position'), optional: true, cell: (row) => <code>{row.position}</code> },
    {
      id: 'correlation',
      header: text('fields.correlationId'),
      optional: true,
      cell: ({ correlationId }) => <code>{correlationId}</code>,
    },
  ]
}
