import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/api-client'
import type { SessionItem, SessionsAnswer, UserItem } from '../../api/contract'
import { useAction } from '../../api/use-action'
import { useMay } from '../../app/current-session'
import { useText } from '../../app/texts'
import { BrowserName } from '../../components/BrowserName'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { Confirm } from '../../components/Confirm'
import { type Column, DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { Time } from '../../components/Time'
import { notify } from '../../components/Toasts'
import { userKeys } from './use-users'

export function UserSessions({ user }: { readonly user: UserItem }) {
  const text = useText()
  const { userId } = user
  const mayManage = useMay('users:manage')
  const [asking, setAsking] = useState(false)
  const columns = useColumns()
  const query = useQuery({
    queryKey: ['user-sessions', userId],
    queryFn: ({ signal }) => api.get<SessionsAnswer>(`/users/${userId}/sessions`, {}, signal),
  })
  const isNone = (query.data?.items.length ?? 0) === 0
  return (
    <Card
      title={text('users.sessions')}
      actions={
        mayManage && (
          <Button look="danger" isDisabled={isNone} onPress={() => setAsking(true)}>
            {text('users.endSessions')}
          </Button>
        )
      }
    >
      <Loaded query={query}>
        {({ items }) => (
          <DataTable
            label={text('users.sessions')}
            columns={columns}
            rows={items}
            rowId={({ sessionId }) => sessionId}
            empty={<Empty title={text('users.noSessions')} />}
          />
        )}
      </Loaded>
      {asking && <EndConfirm user={user} onClose={() => setAsking(false)} />}
    </Card>
  )
}

function EndConfirm({ user: { userId, name }, onClose }: { readonly user: UserItem; readonly onClose: () => void }) {
  const text = useText()
  const action = useAction<void>({
    run: () => api.send('DELETE', `/users/${userId}/sessions`),
    refresh: userKeys,
    done: () => {
      notify(text('users.sessionsEnded', { name }))
      onClose()
    },
  })
  return (
    <Confirm
      title={text('users.endSessionsTitle', { name })}
      open
      onClose={onClose}
      onConfirm={() => action.start()}
      confirm={text('users.endSessions')}
      danger
      pending={action.pending}
      error={action.error}
    >
      <p>{text('users.endSessionsHelp')}</p>
    </Confirm>
  )
}

function useColumns(): readonly Column<SessionItem>[] {
  const text = useText()
  return [
    { id: 'device', header: text('users.device'), cell: ({ userAgent }) => <BrowserName userAgent={userAgent} /> },
    { id: 'address', header: text('users.address'), cell: ({ address }) => <bdi>{address}</bdi> },
    { id: 'seen', header: text('users.lastSeen'), cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
    { id: 'created', header: text('users.signedIn'), cell: ({ createdAt }) => <Time at={createdAt} /> },
    { id: 'expires', header: text('users.expires'), cell: ({ expiresAt }) => <Time at={expiresAt} /> },
  ]
}
