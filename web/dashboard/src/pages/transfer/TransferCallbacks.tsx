import { useQuery } from '@tanstack/react-query'
import { ChevronRight } from 'lucide-react'
import { useState } from 'react'
import type {
  CallbackContent,
  CallbackRow,
  CallbacksResponse,
  ResendResponse,
} from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { CallbackStatusBadge } from '../../components/CallbackStatusBadge'
import { Card } from '../../components/Card'
import { Loaded } from '../../components/Loaded'
import { Problem } from '../../components/Problem'
import { Clock, DueTime } from '../../components/Time'
import { notify } from '../../components/Toasts'
import { useFailureName } from '../../components/use-failure-name'
import { transferKeys } from './use-transfer'

/** Shows the callbacks of a transfer in the order of its history, oldest first. */
export function TransferCallbacks({ trackingId }: { trackingId: string }) {
  const text = useText()
  const query = useQuery({
    queryKey: ['callbacks', { trackingId }],
    queryFn: ({ signal }) => api.get<CallbacksResponse>('/callbacks', { trackingId, limit: 100 }, signal),
    // Attempts are made soon after a change, and no live message reports them.
    refetchInterval: ({ state }) => (state.data?.items.some(({ status }) => status === 'waiting') ? 2_000 : 10_000),
  })
  return (
    <Card title={text('callbacks.title')}>
      <Loaded query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="faint small">{text('transfer.noCallbacks')}</p>
          ) : (
            <ul className="TransferPage-callbacks">
              {[...items].reverse().map((row) => (
                <Callback key={row.webhookId} row={row} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  )
}

function Callback({ row }: { row: CallbackRow }) {
  const text = useText()
  const failureName = useFailureName()
  const canResend = usePermission('callbacks:resend')
  const { trackingId, webhookId, status, failedAttempts, dueAt, lastFailure } = row
  const resend = useAction<void, ResendResponse>({
    run: () => api.send<ResendResponse>('POST', '/callbacks/resend', { callbacks: [{ trackingId, webhookId }] }),
    onSuccess: ({ requeued }) => notify(text('callbacks.resent', { count: requeued })),
    refresh: [['callbacks'], transferKeys.history(trackingId)],
  })
  return (
    <li className="TransferPage-callback">
      <div className="spread">
        <span className="row">
          <CallbackStatusBadge status={status} />
          <span>{text(`common.status.${row.transferStatus}`)}</span>
        </span>
        <span className="faint small">
          <Clock at={row.recordedAt} />
        </span>
        {canResend && (
          <Button
            small
            className="screen-only"
            aria-label={text('callbacks.resendStatus', { status: text(`common.status.${row.transferStatus}`) })}
            pending={resend.pending}
            onPress={() => resend.start()}
          >
            {text('callbacks.resend')}
          </Button>
        )}
      </div>
      {failedAttempts > 0 && (
        <p className="muted small">
          {text('transfer.failedAttempts', { count: failedAttempts })}{' '}
          {lastFailure !== null && failureName(lastFailure)}
        </p>
      )}
      {status === 'waiting' && dueAt !== null && (
        <p className="muted small">
          {text('transfer.nextAttempt')} <DueTime at={dueAt} />
        </p>
      )}
      <Problem error={resend.error} />
      <Content row={row} />
    </li>
  )
}

/** The bodies are fetched when they are unfolded, because most callbacks are never looked at. */
function Content({ row: { trackingId, webhookId, status, failedAttempts } }: { row: CallbackRow }) {
  const text = useText()
  const [isOpen, setOpen] = useState(false)
  const query = useQuery({
    // A further attempt may have a different response.
    queryKey: ['callback-content', trackingId, webhookId, status, failedAttempts],
    queryFn: ({ signal }) => api.get<CallbackContent>(`/callbacks/${trackingId}/${webhookId}`, {}, signal),
    enabled: isOpen,
  })
  return (
    <details className="TransferPage-content" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <ChevronRight className="icon-14" />
        {text('transfer.callbackContent')}
      </summary>
      {isOpen && (
        <Loaded query={query}>
          {({ request, response }) => (
            <>
              <h3>{text('transfer.callbackRequest')}</h3>
              <pre>{JSON.stringify(JSON.parse(request), null, 2)}</pre>
              <h3>{text('callbacks.lastResponse')}</h3>
              {response === null ? <p className="faint">{text('transfer.noResponseBody')}</p> : <pre>{response}</pre>}
            </>
          )}
        </Loaded>
      )}
    </details>
  )
}
