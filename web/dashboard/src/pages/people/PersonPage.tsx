import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import type { UserItem } from '../../api/contract'
import { useMay, useSession } from '../../app/session'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { Empty } from '../../components/Empty'
import { Facts } from '../../components/Facts'
import { Loaded } from '../../components/Loaded'
import { Page } from '../../components/Page'
import { Time } from '../../components/Time'
import { Changes } from './Changes'
import { PersonSessions } from './PersonSessions'
import { PersonMerchants, PersonState } from './PersonState'
import { PersonTasks, type Task } from './PersonTasks'
import { useUsers } from './users'

const route = getRouteApi('/pages/people/$userId')

export function PersonPage() {
  const text = useText()
  const { userId } = route.useParams()
  const query = useUsers()
  const user = query.data?.items.find((each) => each.userId === userId)
  return (
    <Page title={user?.name ?? text('people.one')}>
      <Loaded query={query}>
        {() =>
          user ? <Person user={user} /> : <Empty title={text('people.unknown')}>{text('people.unknownHelp')}</Empty>
        }
      </Loaded>
    </Page>
  )
}

function Person({ user }: { readonly user: UserItem }) {
  const text = useText()
  const { lastSignInAt } = user
  return (
    <div className="stack">
      <Card title={text('people.account')}>
        <Facts
          items={[
            { label: text('people.email'), value: <bdi>{user.email}</bdi> },
            { label: text('people.role'), value: text(`common.role.${user.role}`) },
            { label: text('people.merchants'), value: <PersonMerchants user={user} /> },
            { label: text('people.state'), value: <PersonState user={user} /> },
            { label: text('people.created'), value: <Time at={user.createdAt} /> },
            {
              label: text('people.lastSignIn'),
              value: lastSignInAt === null ? text('people.never') : <Time at={lastSignInAt} />,
            },
          ]}
        />
        <Managing user={user} />
      </Card>
      <PersonSessions user={user} />
      <Card title={text('people.changes')}>
        <Changes subject={user.userId} />
      </Card>
    </div>
  )
}

function Managing({ user }: { readonly user: UserItem }) {
  const text = useText()
  const mayManage = useMay('users:manage')
  const isSelf = useSession().user.userId === user.userId
  const [task, setTask] = useState<Task>()
  if (!mayManage) return null
  return (
    <>
      <div className="row">
        <Button look="plain" onPress={() => setTask('role')}>
          {text('people.changeRole')}
        </Button>
        <Button look="plain" onPress={() => setTask('reset')}>
          {text('people.reset')}
        </Button>
        {user.disabled ? (
          <Button look="plain" onPress={() => setTask('enable')}>
            {text('people.enable')}
          </Button>
        ) : (
          <Button look="danger" isDisabled={isSelf} onPress={() => setTask('disable')}>
            {text('people.disable')}
          </Button>
        )}
      </div>
      {isSelf && <p className="muted">{text('people.notYourself')}</p>}
      {task && <PersonTasks user={user} task={task} onClose={() => setTask(undefined)} />}
    </>
  )
}
