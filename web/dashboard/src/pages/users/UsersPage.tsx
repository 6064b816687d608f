import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { UserItem } from '../../../../../src/http/dashboard/api'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { type Column, DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { Mark } from '../../components/Mark'
import { Page } from '../../components/Page'
import { Time } from '../../components/Time'
import { CreateUserDialog } from './CreateUserDialog'
import { UserMerchants, UserState } from './UserState'
import { useUsers } from './use-users'
import './UsersPage.css'

export function UsersPage() {
  const text = useText()
  const navigate = useNavigate()
  const canManage = usePermission('users:manage')
  const [isCreating, setCreating] = useState(false)
  const columns = useColumns()
  const query = useUsers()
  const open = (userId: string) => void navigate({ to: '/users/$userId', params: { userId } })
  return (
    <Page
      title={text('users.title')}
      actions={
        canManage && (
          <Button look="primary" onPress={() => setCreating(true)}>
            {text('users.create')}
          </Button>
        )
      }
    >
      <Loaded query={query}>
        {({ items }) => (
          <DataTable
            label={text('users.title')}
            columns={columns}
            rows={items}
            rowId={({ userId }) => userId}
            onOpen={({ userId }) => open(userId)}
            empty={<Empty title={text('users.empty')}>{text('users.emptyHelp')}</Empty>}
          />
        )}
      </Loaded>
      {isCreating && <CreateUserDialog onClose={() => setCreating(false)} onCreated={open} />}
    </Page>
  )
}

function useColumns(): readonly Column<UserItem>[] {
  const text = useText()
  return [
    {
      id: 'name',
      header: text('fields.name'),
      card: 'title',
      cell: ({ userId, name }) => (
        <span className="row">
          <Mark name={name} person />
          <Link to="/users/$userId" params={{ userId }}>
            <bdi>{name}</bdi>
          </Link>
        </span>
      ),
    },
    {
      id: 'email',
      header: text('fields.email'),
      card: 'name',
      cell: ({ email }) => (
        <bdi className="UsersPage-email" title={email}>
          {email}
        </bdi>
      ),
    },
    { id: 'role', header: text('fields.role'), card: 'under', cell: ({ role }) => text(`common.role.${role}`) },
    {
      id: 'merchants',
      header: text('fields.merchantIds'),
      wide: true,
      cell: (user) => <UserMerchants user={user} />,
    },
    { id: 'state', header: text('fields.state'), card: 'status', cell: (user) => <UserState user={user} /> },
    {
      id: 'signIn',
      header: text('fields.lastSignInAt'),
      card: 'end',
      cell: ({ lastSignInAt }) =>
        lastSignInAt === null ? <span className="faint">{text('users.never')}</span> : <Time at={lastSignInAt} />,
    },
    {
      id: 'created',
      header: text('fields.createdAt'),
      optional: true,
      cell: ({ createdAt }) => <Time at={createdAt} />,
    },
  ]
}
