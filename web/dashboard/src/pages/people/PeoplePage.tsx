import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { UserItem } from '../../api/contract'
import { useMay } from '../../app/session'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { type Column, DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { Page } from '../../components/Page'
import { Time } from '../../components/Time'
import { CreatePersonDialog } from './CreatePersonDialog'
import { PersonMerchants, PersonState } from './PersonState'
import { useUsers } from './users'

export function PeoplePage() {
  const text = useText()
  const navigate = useNavigate()
  const mayManage = useMay('users:manage')
  const [creating, setCreating] = useState(false)
  const columns = useColumns()
  const query = useUsers()
  const open = (userId: string) => void navigate({ to: '/people/$userId', params: { userId } })
  return (
    <Page
      title={text('people.title')}
      actions={
        mayManage && (
          <Button look="primary" onPress={() => setCreating(true)}>
            {text('people.create')}
          </Button>
        )
      }
    >
      <Loaded query={query}>
        {({ items }) => (
          <DataTable
            label={text('people.title')}
            columns={columns}
            rows={items}
            rowId={({ userId }) => userId}
            onOpen={({ userId }) => open(userId)}
            empty={<Empty title={text('people.empty')}>{text('people.emptyHelp')}</Empty>}
          />
        )}
      </Loaded>
      {creating && <CreatePersonDialog onClose={() => setCreating(false)} onCreated={open} />}
    </Page>
  )
}

function useColumns(): readonly Column<UserItem>[] {
  const text = useText()
  return [
    {
      id: 'name',
      header: text('people.name'),
      cell: ({ userId, name }) => (
        <Link to="/people/$userId" params={{ userId }}>
          <bdi>{name}</bdi>
        </Link>
      ),
    },
    { id: 'email', header: text('people.email'), cell: ({ email }) => <bdi>{email}</bdi> },
    { id: 'role', header: text('people.role'), cell: ({ role }) => text(`common.role.${role}`) },
    {
      id: 'merchants',
      header: text('people.merchants'),
      wide: true,
      cell: (user) => <PersonMerchants user={user} />,
    },
    { id: 'state', header: text('people.state'), cell: (user) => <PersonState user={user} /> },
    {
      id: 'signIn',
      header: text('people.lastSignIn'),
      cell: ({ lastSignInAt }) => (lastSignInAt === null ? text('people.never') : <Time at={lastSignInAt} />),
    },
    { id: 'created', header: text('people.created'), optional: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  ]
}
