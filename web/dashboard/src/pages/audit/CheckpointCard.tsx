import type { AuditIntegrityResponse } from '../../../../../src/http/dashboard/audit/audit-api'
import { useText } from '../../app/texts'
import { Badge } from '../../components/Badge'
import { Card } from '../../components/Card'
import { CopyableId, CopyButton } from '../../components/Copyable'
import { Empty } from '../../components/Empty'
import { Facts } from '../../components/Facts'
import { Time } from '../../components/Time'

/** Shows the last signed checkpoint of the log. A copy kept elsewhere reveals whether the log is truncated later. */
export function CheckpointCard({ integrity }: { readonly integrity: AuditIntegrityResponse }) {
  const text = useText()
  const { checkpoint, verifierKey, problems } = integrity
  return (
    <Card title={text('audit.checkpoint')}>
      {problems.length > 0 && (
        <ul className="Audit-findings Audit-problems">
          {problems.map((problem) => (
            <li key={problem}>
              <Badge tone="person">{text('audit.warning')}</Badge>
              <bdi lang="en">{problem}</bdi>
            </li>
          ))}
        </ul>
      )}
      {checkpoint ? (
        <>
          <Facts
            items={[
              { label: text('audit.signedAt'), value: <Time at={checkpoint.signedAt} exact /> },
              { label: text('audit.events'), value: text('common.count', { count: checkpoint.treeSize }) },
              { label: text('audit.origin'), value: <code>{checkpoint.origin}</code> },
              {
                label: text('audit.witnesses'),
                value: checkpoint.witnesses.length === 0 ? text('common.none') : checkpoint.witnesses.join(', '),
              },
              { label: text('audit.root'), value: <CopyableId value={checkpoint.root} label={text('audit.root')} /> },
              {
                label: text('audit.verifierKey'),
                value: verifierKey && <CopyableId value={verifierKey} label={text('audit.verifierKey')} />,
              },
            ]}
          />
          <p>{text('audit.checkpointHelp')}</p>
          <div className="spread">
            <h3>{text('audit.note')}</h3>
            <CopyButton value={checkpoint.note} label={text('audit.note')} />
          </div>
          <pre className="Audit-note">{checkpoint.note}</pre>
        </>
      ) : (
        <Empty title={text('audit.noCheckpoint')}>{text('audit.noCheckpointHelp')}</Empty>
      )}
    </Card>
  )
}
