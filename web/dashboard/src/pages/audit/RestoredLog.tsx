import type { AuditIntegrityResponse } from '../../../../../src/http/dashboard/audit/audit-api'
import { useText } from '../../app/texts'
import { ButtonLink } from '../../components/Button'
import { Duration } from '../../components/Duration'
import { Facts } from '../../components/Facts'
import { Time } from '../../components/Time'

type Restored = NonNullable<NonNullable<AuditIntegrityResponse['payoutsStopped']>['restored']>

/** Shows the restore of the log that stopped payouts, with links to the withdrawals that may have been paid after the backup. */
export function RestoredLog({ restored }: { readonly restored: Restored }) {
  const text = useText()
  const { backupCreatedAt, restoredAt, events, lastEventAt, lostEvents, at } = restored
  const end = restoredAt ?? at
  return (
    <>
      <p>{text('audit.stoppedByRestore')}</p>
      <Facts
        items={[
          { label: text('audit.restoredAt'), value: <Time at={end} exact /> },
          { label: text('audit.backupFrom'), value: backupCreatedAt && <Time at={backupCreatedAt} exact /> },
          {
            label: text('audit.timeLost'),
            value: backupCreatedAt && <Duration ms={Date.parse(end) - Date.parse(backupCreatedAt)} />,
          },
          {
            label: text('audit.eventsInBackup'),
            value: events === null ? null : text('common.count', { count: events }),
          },
          { label: text('audit.lastEventInBackup'), value: lastEventAt && <Time at={lastEventAt} exact /> },
          {
            label: text('audit.eventsLost'),
            value: lostEvents === null ? text('audit.unknown') : text('common.count', { count: lostEvents }),
          },
        ]}
      />
      <p>{text('audit.payableInBackup')}</p>
      <p className="row">
        <ButtonLink to="/withdrawals" search={{ status: 'Pending', to: at }}>
          {text('audit.payablePending')}
        </ButtonLink>
        <ButtonLink to="/withdrawals" search={{ status: 'ManualControl', to: at }}>
          {text('audit.payableInManualControl')}
        </ButtonLink>
      </p>
    </>
  )
}
