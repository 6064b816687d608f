import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { PayoutsResponse } from '../../../../../src/http/dashboard/api'
import type { AuditIntegrityResponse, AuditVerifyResponse } from '../../../../../src/http/dashboard/audit/audit-api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { usePermission } from '../../app/current-session'
import { payoutsQuery } from '../../app/payouts-stopped-query'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { Loaded } from '../../components/Loaded'
import { Problem } from '../../components/Problem'
import { Time } from '../../components/Time'
import { notify } from '../../components/Toasts'
import { CheckpointCard } from './CheckpointCard'
import { IntegrityFindings } from './IntegrityFindings'
import { RestoredLog } from './RestoredLog'
import { ResumePayoutsDialog } from './ResumePayoutsDialog'
import { Verifications } from './Verifications'

const busyMs = 2_000
const quietMs = 15_000

const integrityKey = ['audit-integrity']

/** Shows whether the log is intact, and whether payouts are stopped. */
export function IntegrityView() {
  const text = useText()
  const canVerify = usePermission('audit:verify')
  /** The newest requested verification when another one was requested. Until the new one appears, the state is fetched often. */
  const [previous, setPrevious] = useState<string>()
  const query = useQuery({
    queryKey: integrityKey,
    queryFn: async ({ signal, client }) => {
      const integrity = await api.get<AuditIntegrityResponse>('/audit/integrity', {}, signal)
      const payouts: PayoutsResponse = { stopped: integrity.payoutsStopped !== null }
      client.setQueryData(payoutsQuery.queryKey, payouts)
      return integrity
    },
    refetchInterval: ({ state: { data } }) =>
      isVerifying(data) || (previous !== undefined && newestRequested(data) === previous) ? busyMs : quietMs,
  })
  const verify = useAction<void, AuditVerifyResponse>({
    run: () => api.send<AuditVerifyResponse>('POST', '/audit/verify'),
    refresh: [integrityKey],
    onSuccess: ({ started }) => {
      if (started) setPrevious(newestRequested(query.data))
      notify(text(started ? 'audit.verifyStarted' : 'audit.verifyRunning'))
    },
  })
  return (
    <Loaded query={query}>
      {(integrity) => (
        <div className="Audit-columns">
          <div className="stack">
            <Payouts integrity={integrity} />
            <Card
              title={text('audit.verifications')}
              actions={
                canVerify && (
                  <Button look="primary" pending={verify.pending} onPress={() => verify.start()}>
                    {text('audit.verify')}
                  </Button>
                )
              }
            >
              <Problem error={verify.error} />
              <Verifications verifications={integrity.verifications} />
            </Card>
          </div>
          <CheckpointCard integrity={integrity} />
        </div>
      )}
    </Loaded>
  )
}

function isVerifying(integrity: AuditIntegrityResponse | undefined): boolean {
  return integrity?.verifications.some(({ finishedAt }) => finishedAt === null) ?? false
}

/** Returns the start time of the newest requested verification, or '' if none was requested. */
function newestRequested(integrity: AuditIntegrityResponse | undefined): string {
  return integrity?.verifications.find(({ occasion }) => occasion === 'requested')?.startedAt ?? ''
}

function Payouts({ integrity: { payoutsStopped, resumed } }: { readonly integrity: AuditIntegrityResponse }) {
  const text = useText()
  const canResume = usePermission('integrity:resume')
  const [isConfirming, setConfirming] = useState(false)
  return (
    <Card
      title={text('audit.payouts')}
      actions={
        payoutsStopped &&
        canResume && (
          <Button look="danger" onPress={() => setConfirming(true)}>
            {text('audit.resume')}
          </Button>
        )
      }
    >
      {payoutsStopped ? (
        <>
          <p className="row">
            <Badge tone="bad">{text('audit.stopped')}</Badge>
            <span>
              {text('audit.stoppedSince')} <Time at={payoutsStopped.since} exact />
            </span>
          </p>
          <p>{text('audit.stoppedHelp')}</p>
          {payoutsStopped.stop && (
            <Decision
              text={text('audit.stoppedBy', { name: payoutsStopped.stop.byName })}
              decision={payoutsStopped.stop}
            />
          )}
          {payoutsStopped.restored && <RestoredLog restored={payoutsStopped.restored} />}
          {payoutsStopped.findings.length > 0 && (
            <>
              <p>{text('audit.stoppedByFindings')}</p>
              <IntegrityFindings findings={payoutsStopped.findings} />
            </>
          )}
        </>
      ) : (
        <p>
          <Badge tone="good">{text('audit.notStopped')}</Badge>
        </p>
      )}
      {resumed && <Decision text={text('audit.resumedBy', { name: resumed.byName })} decision={resumed} />}
      {isConfirming && payoutsStopped && (
        <ResumePayoutsDialog
          stopped={payoutsStopped}
          refresh={[integrityKey, payoutsQuery.queryKey]}
          onClose={() => setConfirming(false)}
        />
      )}
    </Card>
  )
}

interface DecisionProps {
  readonly text: string
  readonly decision: { readonly at: string; readonly reason: string }
}

function Decision({ text, decision: { at, reason } }: DecisionProps) {
  return (
    <p className="muted">
      {text} <Time at={at} exact />
      <bdi className="Audit-reason">{reason}</bdi>
    </p>
  )
}
