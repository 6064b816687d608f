import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useEffect, useEffectEvent } from 'react'
import type { TransfersResponse } from '../../../../../src/http/dashboard/api'
import type { AuditStoryResponse } from '../../../../../src/http/dashboard/audit/audit-api'
import { isStoredUuid, storedUuid } from '../../../../../src/kernel/uuid'
import { api } from '../../api/api-client'
import { useMerchantName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { StatusBadge } from '../../components/Badge'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { Empty } from '../../components/Empty'
import { dataOf, fieldText } from '../../components/form-data'
import { Loaded } from '../../components/Loaded'
import { TextField } from '../../components/TextField'
import { AuditTimeline } from './AuditTimeline'
import { EvidenceCard } from './EvidenceCard'
import { PointInTimeField } from './PointInTimeField'
import { ProofDownload } from './ProofDownload'
import { StateAtTime } from './StateAtTime'
import { useChanges } from './use-changes'

const route = getRouteApi('/pages/audit')

/** Shows every event that concerns a transfer, and its state at any time. */
export function TransferHistory() {
  const text = useText()
  const { id, at } = route.useSearch()
  const navigate = route.useNavigate()
  const go = (changes: { readonly id?: string | undefined; readonly at?: string | undefined }) =>
    void navigate({ search: (before) => ({ ...before, ...changes }) })
  return (
    <>
      <div className="Audit-question">
        <form
          className="Audit-find"
          onSubmit={(event) => {
            event.preventDefault()
            const next = fieldText(dataOf(event.currentTarget), 'id')
            if (next !== '') go({ id: next, at: undefined })
          }}
        >
          <TextField key={id} name="id" label={text('audit.transferField')} defaultValue={id ?? ''} required />
          <Button type="submit" look="primary">
            {text('audit.show')}
          </Button>
        </form>
        {id !== undefined && <PointInTimeField at={at} onChange={(next) => go({ at: next })} />}
      </div>
      {id === undefined ? (
        <Empty title={text('audit.whichTransfer')}>{text('audit.whichTransferHelp')}</Empty>
      ) : !isStoredUuid(storedUuid(id)) ? (
        <ByReference key={id} reference={id} onFound={(next) => go({ id: next, at: undefined })} />
      ) : (
        <History key={id} id={id} at={at} onSelect={(next) => go({ at: next })} />
      )}
    </>
  )
}

interface HistoryProps {
  readonly id: string
  readonly at: string | undefined
  readonly onSelect: (at: string) => void
}

function History({ id, at, onSelect }: HistoryProps) {
  const text = useText()
  // All events stay visible. Those after the chosen time are marked.
  const query = useQuery({
    queryKey: ['audit-story', id],
    queryFn: ({ signal }) => api.get<AuditStoryResponse>(`/audit/story/${encodeURIComponent(id)}`, {}, signal),
  })
  const changes = useChanges(id, query.data?.items ?? [])
  const changed = at === undefined ? undefined : changes.get(at)
  return (
    <div className="Audit-columns">
      <div className="stack">
        <Card title={text('audit.history')} actions={<ProofDownload trackingId={id} />}>
          <Loaded query={query}>
            {({ items }) => <AuditTimeline items={items} changes={changes} at={at} onSelect={onSelect} />}
          </Loaded>
        </Card>
        <EvidenceCard trackingId={id} />
      </div>
      <StateAtTime of="transfer" id={id} at={at} changed={changed?.map(({ name }) => name)} />
    </div>
  )
}

/** Finds the transfer that a reference names. Several merchants can use the same one. */
function ByReference({ reference, onFound }: { readonly reference: string; readonly onFound: (id: string) => void }) {
  const text = useText()
  const merchantName = useMerchantName()
  const query = useQuery({
    queryKey: ['audit-reference', reference],
    queryFn: async ({ signal }) => {
      const { items } = await api.get<TransfersResponse>('/transfers', { text: reference, limit: 20 }, signal)
      const exact = items.filter(({ referenceId }) => referenceId === reference)
      return exact.length > 0 ? exact : items
    },
  })
  const only = query.data?.length === 1 ? query.data[0]!.trackingId : undefined
  const found = useEffectEvent(onFound)
  useEffect(() => {
    if (only !== undefined) found(only)
  }, [only])
  return (
    <Loaded query={query}>
      {(items) =>
        items.length === 0 ? (
          <Empty title={text('audit.notFound', { reference })}>{text('audit.whichTransferHelp')}</Empty>
        ) : (
          <Card title={text('audit.severalFound')}>
            <ul className="Audit-files">
              {items.map(({ trackingId, referenceId, merchantId, amountMinor, status }) => (
                <li key={trackingId}>
                  <span className="row">
                    <Button look="quiet" onPress={() => onFound(trackingId)}>
                      {referenceId}
                    </Button>
                    <Amount minor={amountMinor} />
                    <StatusBadge status={status} />
                    <bdi className="muted">{merchantName(merchantId)}</bdi>
                  </span>
                </li>
              ))}
            </ul>
          </Card>
        )
      }
    </Loaded>
  )
}
