import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type {
  ProblemItem,
  ProblemsResponse,
  SkipEventRequest,
  SkipEventResponse,
} from '../../../../../src/http/dashboard/operations/operations-api'
import { api } from '../../api/api-client'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { Problem } from '../../components/Problem'
import { ReasonDialog } from '../../components/ReasonDialog'
import { notify } from '../../components/Toasts'

/** Lists unreadable events, if any exist. */
export function UnreadableEvents() {
  const text = useText()
  const canManage = usePermission('operations:manage')
  const [opened, setOpened] = useState<ProblemItem>()
  const { data, error, refetch } = useQuery({
    queryKey: ['problems'],
    queryFn: ({ signal }) => api.get<ProblemsResponse>('/operations/problems', {}, signal),
    refetchInterval: 5_000,
  })
  if (error) return <Problem error={error} reading retry={() => void refetch()} />
  if (!data || data.items.length === 0) return null
  return (
    <Card title={text('operations.unreadable')}>
      <p>{text('operations.unreadableHelp')}</p>
      <ul className="Operations-problems">
        {data.items.map((problem) => (
          <li key={`${problem.stream}@${problem.revision}`}>
            <div className="stack-tight">
              <code>{`${problem.stream}@${problem.revision}`}</code>
              <bdi lang="en">{problem.reason}</bdi>
              {problem.stopped.length > 0 && (
                <span className="muted small">
                  {text('operations.stopped', { projections: problem.stopped.join(', ') })}
                </span>
              )}
            </div>
            {canManage && (
              <Button look="danger" onPress={() => setOpened(problem)}>
                {text('operations.skip')}
              </Button>
            )}
          </li>
        ))}
      </ul>
      {opened && <SkipEventDialog problem={opened} onClose={() => setOpened(undefined)} />}
    </Card>
  )
}

function SkipEventDialog({ problem, onClose }: { readonly problem: ProblemItem; readonly onClose: () => void }) {
  const text = useText()
  const { stream, revision } = problem
  return (
    <ReasonDialog
      title={text('operations.skipTitle')}
      submit={text('operations.skipSubmit')}
      reasonHelp={text('common.reasonHelp')}
      run={(reason) => {
        const body: SkipEventRequest = { stream, revision, reason }
        return api.send<SkipEventResponse>('POST', '/operations/problems/skip', body)
      }}
      refresh={[['problems'], ['projections']]}
      onSuccess={() => {
        notify(text('operations.skipped'))
        onClose()
      }}
      onClose={onClose}
    >
      <p>
        <code>{`${stream}@${revision}`}</code>
      </p>
      <p>{text('operations.skipHelp')}</p>
    </ReasonDialog>
  )
}
