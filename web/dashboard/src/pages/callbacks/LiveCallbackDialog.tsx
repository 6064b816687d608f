import type { ResendRequest, ResendResponse } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { StatusBadge } from '../../components/Badge'
import { Button } from '../../components/Button'
import { CopyButton } from '../../components/Copyable'
import { Dialog } from '../../components/Dialog'
import { useDuration } from '../../components/Duration'
import { Problem } from '../../components/Problem'
import { Clock, DueTime } from '../../components/Time'
import { notify } from '../../components/Toasts'
import { TransferLink } from '../../components/TransferLink'
import { useFailureName } from '../../components/use-failure-name'
import type { LiveAttempt, LiveCallback } from './live-callbacks'

interface LiveCallbackDialogProps {
  readonly callback: LiveCallback
  readonly onClose: () => void
}

/** Shows the request of a callback and its attempts, which arrive while it is open. */
export function LiveCallbackDialog({ callback, onClose }: LiveCallbackDialogProps) {
  const text = useText()
  const canResend = usePermission('callbacks:resend')
  const { trackingId, webhookId, attempts, request } = callback
  const resend = useAction<void, ResendResponse>({
    run: () => {
      const body: ResendRequest = { callbacks: [{ trackingId, webhookId }] }
      return api.send<ResendResponse>('POST', '/callbacks/resend', body)
    },
    refresh: [['callbacks'], ['endpoints']],
    onSuccess: ({ requeued }) => notify(text('callbacks.resent', { count: requeued })),
  })
  const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`)
  return (
    <Dialog title={text('audit.source.callback')} open onClose={onClose} wide>
      <div className="stack">
        <p className="row">
          <StatusBadge status={callback.statusDescription} />
          <TransferLink {...callback} />
          {callback.isResent && <span className="muted small">{text('callbacks.live.resent')}</span>}
        </p>
        <Attempts attempts={attempts} />
        <Content label={text('callbacks.live.headers')} value={headers.join('\n')} />
        <Content
          label={text('callbacks.live.body')}
          value={JSON.stringify(JSON.parse(request.body), null, 2)}
          copied={request.body}
        />
        <p className="muted small">{text('callbacks.live.hidden')}</p>
        <Problem error={resend.error} />
        <div className="row">
          {canResend && (
            <Button look="primary" pending={resend.pending} onPress={() => resend.start()}>
              {text('callbacks.resend')}
            </Button>
          )}
          <Button onPress={onClose}>{text('common.close')}</Button>
        </div>
      </div>
    </Dialog>
  )
}

function Attempts({ attempts }: { readonly attempts: readonly LiveAttempt[] }) {
  const text = useText()
  const duration = useDuration()
  const failureName = useFailureName()
  return (
    <section>
      <h3>{text('callbacks.live.attempts')}</h3>
      {attempts.length === 0 && <p className="muted small">{text('callbacks.noAttempts')}</p>}
      <ul className="LiveCallbacks-attempts">
        {attempts.map(({ at, httpStatus, reason, durationMs, nextAttemptAt }) => (
          <li key={at}>
            <span className="LiveCallbacks-attempt" data-failed={reason !== null || undefined}>
              {httpStatus ?? text('callbacks.noResponse')}
            </span>
            <span>
              {reason !== null && failureName(reason)}
              {nextAttemptAt !== null && (
                <span className="muted">
                  {reason !== null && ' · '}
                  {text('fields.nextAttemptAt')} <DueTime at={nextAttemptAt} />
                </span>
              )}
            </span>
            <span className="number">{duration(durationMs)}</span>
            <span className="muted number">
              <Clock at={at} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

interface ContentProps {
  readonly label: string
  readonly value: string
  /** Copied in place of the shown value. */
  readonly copied?: string
}

function Content({ label, value, copied = value }: ContentProps) {
  return (
    <section>
      <div className="LiveCallbacks-content">
        <h3>{label}</h3>
        <CopyButton value={copied} label={label} />
      </div>
      <pre className="Endpoint-response">{value}</pre>
    </section>
  )
}
