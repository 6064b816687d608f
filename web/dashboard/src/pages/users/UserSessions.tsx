import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { SessionsResponse, UserItem } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { Confirm } from '../../components/Confirm'
import { DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { useSessionColumns } from '../../components/session-columns'
import { notify } from '../../components/Toasts'
import { userKeys } from './use-users'

export function UserSessions({ user }: { readonly user: UserItem }) {
  const text = useText()
  const { userId } = user
  const canManage = usePermission('users:manage')
  const [isConfirming, setConfirming] = useState(false)
  const columns = useSessionColumns()
  const query = useQuery({
    queryKey: ['user-sessions', userId],
    queryFn: ({ signal }) => api.get<SessionsResponse>(`/users/${userId}/sessions`, {}, signal),
  })
  const isNone = (query.data?.items.length ?? 0) === 0
  return (
    <Card
      title={text('account.sessions')}
      actions={
        canManage && (
          <Button look="bad" isDisabled={isNone} onPress={() => setConfirming(true)}>
            {text('account.everywhere')}
          </Button>
        )
      }
    >
      <Loaded query={query}>
        {({ items }) => (
          <DataTable
            label={text('account.sessions')}
            columns={columns}
            rows={items}
            rowId={({ sessionId }) => sessionId}
            empty={<Empty title={text('users.noSessions')} />}
          />
        )}
      </Loaded>
      {isConfirming && <EndConfirm user={user} onClose={() => setConfirming(false)} />}
    </Card>
  )
}

function EndConfirm({ user: { userId, name }, onClose }: { readonly user: UserItem; readonly onClose: () => void }) {
  const text = useText()
  const action = useAction<void>({
    run: () => api.send('DELETE', `/users/${userId}/sessions`),
    refresh: userKeys,
    onSuccess: () => {
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
      confirm={text('account.everywhere')}
      danger
      pending={action.pending}
      error={action.error}
    >
      <p>{text('users.endSessionsHelp')}</p>
    </Confirm>
  )
}
