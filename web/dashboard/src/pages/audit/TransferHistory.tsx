import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { api } from '../../api/api-client'
import type { AuditStory } from '../../api/contract'
import { filled } from '../../api/settlement-form'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { TextField } from '../../components/TextField'
import { AuditTimeline } from './AuditTimeline'
import { PointInTimeField } from './PointInTimeField'
import { ProofDownload } from './ProofDownload'
import { StateAtTime } from './StateAtTime'

const route = getRouteApi('/pages/audit')

/** All that happened to a transfer and bore on it, and what it was like at any moment of it. */
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
            const next = filled(new FormData(event.currentTarget), 'id')
            if (next !== undefined) go({ id: next, at: undefined })
          }}
        >
          <TextField key={id} name="id" label={text('audit.trackingId')} defaultValue={id ?? ''} required />
          <Button type="submit" look="primary">
            {text('audit.show')}
          </Button>
        </form>
        {id !== undefined && <PointInTimeField at={at} onChange={(next) => go({ at: next })} />}
      </div>
      {id === undefined ? (
        <Empty title={text('audit.whichTransfer')}>{text('audit.whichTransferHelp')}</Empty>
      ) : (
        <History key={id} id={id} at={at} onMoment={(next) => go({ at: next })} />
      )}
    </>
  )
}

interface HistoryProps {
  readonly id: string
  readonly at: string | undefined
  readonly onMoment: (at: string) => void
}

function History({ id, at, onMoment }: HistoryProps) {
  const text = useText()
  // The whole story stays in sight: what came after the moment is marked.
  const query = useQuery({
    queryKey: ['audit-story', id],
    queryFn: ({ signal }) => api.get<AuditStory>(`/audit/story/${encodeURIComponent(id)}`, {}, signal),
  })
  return (
    <div className="Audit-columns">
      <Card title={text('audit.story')} actions={<ProofDownload trackingId={id} />}>
        <Loaded query={query}>{({ items }) => <AuditTimeline items={items} at={at} onMoment={onMoment} />}</Loaded>
      </Card>
      <StateAtTime of="transfer" id={id} at={at} />
    </div>
  )
}
