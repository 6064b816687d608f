import type { SessionItem } from '../../../../src/http/dashboard/api'
import { useText } from '../app/texts'
import { BrowserName } from './BrowserName'
import type { Column } from './DataTable'
import { Time } from './Time'

/** Returns the columns of a table of sessions. */
export function useSessionColumns(): readonly Column<SessionItem>[] {
  const text = useText()
  return [
    {
      id: 'device',
      header: text('fields.device'),
      card: 'title',
      cell: ({ userAgent }) => <BrowserName userAgent={userAgent} />,
    },
    { id: 'address', header: text('fields.address'), card: 'name', cell: ({ address }) => <bdi>{address}</bdi> },
    {
      id: 'lastSeen',
      header: text('fields.lastSeenAt'),
      card: 'under',
      cell: ({ lastSeenAt }) => <Time at={lastSeenAt} />,
    },
    { id: 'signedIn', header: text('fields.signedInAt'), cell: ({ createdAt }) => <Time at={createdAt} exact /> },
    { id: 'ends', header: text('fields.endsAt'), cell: ({ expiresAt }) => <Time at={expiresAt} /> },
  ]
}
