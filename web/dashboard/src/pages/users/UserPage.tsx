import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import type { UserItem } from '../../../../../src/http/dashboard/api'
import { usePermission, useSession } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { Empty } from '../../components/Empty'
import { Facts } from '../../components/Facts'
import { Loaded } from '../../components/Loaded'
import { Page } from '../../components/Page'
import { Time } from '../../components/Time'
import { ChangeHistory } from './ChangeHistory'
import { UserSessions } from './UserSessions'
import { UserMerchants, UserState } from './UserState'
import { type Task, UserTasks } from './UserTasks'
import { useUsers } from './use-users'

const route = getRouteApi('/pages/users/$userId')

export function UserPage() {
  const text = useText()
  const { userId } = route.useParams()
  const query = useUsers()
  const user = query.data?.items.find((each) => each.userId === userId)
  return (
    <Page title={user?.name ?? text('shell.result.user')}>
      <Loaded query={query}>
        {() =>
          user ? <UserDetails user={user} /> : <Empty title={text('users.unknown')}>{text('users.unknownHelp')}</Empty>
        }
      </Loaded>
    </Page>
  )
}

function UserDetails({ user }: { readonly user: UserItem }) {
  const text = useText()
  const { lastSignInAt } = user
  return (
    <div className="stack">
      <Card title={text('account.profile')}>
        <Facts
          items={[
            { label: text('fields.email'), value: <bdi>{user.email}</bdi> },
            { label: text('fields.role'), value: text(`common.role.${user.role}`) },
            { label: text('fields.merchantIds'), value: <UserMerchants user={user} /> },
            { label: text('fields.state'), value: <UserState user={user} /> },
            { label: text('account.twoFactor'), value: text(user.hasSecondFactor ? 'common.on' : 'common.off') },
            { label: text('fields.createdAt'), value: <Time at={user.createdAt} /> },
            {
              label: text('fields.lastSignInAt'),
              value: lastSignInAt === null ? text('users.never') : <Time at={lastSignInAt} />,
            },
          ]}
        />
        <Managing user={user} />
      </Card>
      <UserSessions user={user} />
      <Card title={text('users.history')}>
        <ChangeHistory subject={user.userId} />
      </Card>
    </div>
  )
}

function Managing({ user }: { readonly user: UserItem }) {
  const text = useText()
  const canManage = usePermission('users:manage')
  const isSelf = useSession().user.userId === user.userId
  const [task, setTask] = useState<Task>()
  if (!canManage) return null
  return (
    <>
      {user.heldBy.length > 0 && (
        <div className="notice">
          <div className="stack">
            <span>{text('users.heldHelp', { names: user.heldBy.join(', ') })}</span>
            <div className="row">
              <Button onPress={() => setTask('confirm')}>{text('users.confirm')}</Button>
            </div>
          </div>
        </div>
      )}
      <div className="row">
        <Button onPress={() => setTask('role')}>{text('users.changeRole')}</Button>
        <Button onPress={() => setTask('reset')}>{text('users.reset')}</Button>
        {user.disabled ? (
          <Button onPress={() => setTask('enable')}>{text('users.enable')}</Button>
        ) : (
          <Button look="bad" isDisabled={isSelf} onPress={() => setTask('disable')}>
            {text('users.disable')}
          </Button>
        )}
      </div>
      {isSelf && <p className="muted">{text('users.notYourself')}</p>}
      {task && <UserTasks user={user} task={task} onClose={() => setTask(undefined)} />}
    </>
  )
}
