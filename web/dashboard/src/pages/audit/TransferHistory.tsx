import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { api } from '../../api/api-client'
import type { AuditStory } from '../../api/contract'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { Empty } from '../../components/Empty'
import { fieldText } from '../../components/form-data'
import { Loaded } from '../../components/Loaded'
import { TextField } from '../../components/TextField'
import { AuditTimeline } from './AuditTimeline'
import { PointInTimeField } from './PointInTimeField'
import { ProofDownload } from './ProofDownload'
import { StateAtTime } from './StateAtTime'

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
            const next = fieldText(new FormData(event.currentTarget), 'id')
            if (next !== '') go({ id: next, at: undefined })
          }}
        >
          <TextField key={id} name="id" label={text('fields.trackingId')} defaultValue={id ?? ''} required />
          <Button type="submit" look="primary">
            {text('audit.show')}
          </Button>
        </form>
        {id !== undefined && <PointInTimeField at={at} onChange={(next) => go({ at: next })} />}
      </div>
      {id === undefined ? (
        <Empty title={text('audit.whichTransfer')}>{text('audit.whichTransferHelp')}</Empty>
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
    queryFn: ({ signal }) => api.get<AuditStory>(`/audit/story/${encodeURIComponent(id)}`, {}, signal),
  })
  return (
    <div className="Audit-columns">
      <Card title={text('audit.history')} actions={<ProofDownload trackingId={id} />}>
        <Loaded query={query}>{({ items }) => <AuditTimeline items={items} at={at} onSelect={onSelect} />}</Loaded>
      </Card>
      <StateAtTime of="transfer" id={id} at={at} />
    </div>
  )
}
