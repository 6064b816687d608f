import type { AuditVerification } from '../../../../../src/http/dashboard/audit/audit-api'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'
import { Empty } from '../../components/Empty'
import { Time } from '../../components/Time'
import { IntegrityFindings } from './IntegrityFindings'

export function Verifications({ verifications }: { readonly verifications: readonly AuditVerification[] }) {
  const text = useText()
  if (verifications.length === 0) {
    return <Empty title={text('audit.noVerification')}>{text('audit.noVerificationHelp')}</Empty>
  }
  return (
    <ol className="Audit-files">
      {verifications.map((verification) => (
        <li key={`${verification.occasion} ${verification.startedAt}`}>
          <Verification verification={verification} />
        </li>
      ))}
    </ol>
  )
}

function Verification({ verification }: { readonly verification: AuditVerification }) {
  const text = useText()
  const { occasion, startedAt, finishedAt, verified, treeSize, findings } = verification
  const outcome = findings.length > 0 ? 'broken' : finishedAt === null ? 'running' : 'holds'
  return (
    <>
      <span className="row">
        <Badge tone={({ broken: 'bad', running: 'wait', holds: 'good' } as const)[outcome]}>
          {text(`audit.outcome.${outcome}`, { count: findings.length })}
        </Badge>
        <span>{text(`audit.occasion.${occasion}`)}</span>
        <span className="muted">
          <Time at={finishedAt ?? startedAt} />
        </span>
      </span>
      {finishedAt === null && (
        <progress
          className="Audit-progress"
          max={Math.max(treeSize, 1)}
          value={verified}
          aria-label={text('audit.verifyProgress')}
        />
      )}
      <span className="muted small">{text('audit.verified', { verified, treeSize })}</span>
      {findings.length > 0 && <IntegrityFindings findings={findings} />}
    </>
  )
}
