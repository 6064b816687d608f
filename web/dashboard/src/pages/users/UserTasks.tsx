import { useState } from 'react'
import type { ChangeRoleRequest, IssuedPassword, UserItem } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Confirm } from '../../components/Confirm'
import { Dialog } from '../../components/Dialog'
import { Form } from '../../components/Form'
import { notify } from '../../components/Toasts'
import { IssuedPasswordDialog } from './IssuedPasswordDialog'
import { RoleFields, roleOf } from './RoleFields'
import { UserMerchants } from './UserState'
import { userKeys } from './use-users'

export type Task = 'role' | 'reset' | 'enable' | 'disable' | 'confirm'

interface TaskProps {
  readonly user: UserItem
  readonly onClose: () => void
}

export function UserTasks({ task, user, onClose }: TaskProps & { readonly task: Task }) {
  // The user when the dialog opened, because the page fetches newer states while the dialog is open.
  const [seen] = useState(user)
  const props = { user: seen, onClose }
  if (task === 'role') return <RoleDialog {...props} />
  if (task === 'reset') return <ResetConfirm {...props} />
  return <SwitchConfirm {...props} change={task} />
}

function RoleDialog({ user, onClose }: TaskProps) {
  const text = useText()
  const action = useAction({
    run: (data: FormData) => {
      const body: ChangeRoleRequest = { ...roleOf(data), revision: user.revision }
      return api.send<UserItem>('PUT', `/users/${user.userId}/role`, body)
    },
    refresh: userKeys,
    onSuccess: () => {
      notify(text('users.roleChanged', { name: user.name }))
      onClose()
    },
  })
  return (
    <Dialog title={text('users.changeRole')} open onClose={onClose}>
      <Form
        onSubmit={action.start}
        error={action.error}
        submit={text('users.changeRole')}
        pending={action.pending}
        cancel={onClose}
      >
        <p>{text('users.changeRoleHelp', { name: user.name })}</p>
        <RoleFields role={user.role} merchantIds={user.merchantIds} />
      </Form>
    </Dialog>
  )
}

function ResetConfirm({ user, onClose }: TaskProps) {
  const text = useText()
  const [issued, setIssued] = useState<IssuedPassword>()
  const action = useAction<void, IssuedPassword>({
    run: () => api.send<IssuedPassword>('POST', `/users/${user.userId}/reset`),
    refresh: userKeys,
    onSuccess: setIssued,
  })
  if (issued) return <IssuedPasswordDialog issued={issued} onClose={onClose} />
  return (
    <Confirm
      title={text('users.resetTitle', { name: user.name })}
      open
      onClose={onClose}
      onConfirm={() => action.start()}
      confirm={text('users.reset')}
      danger
      pending={action.pending}
      error={action.error}
    >
      <p>{text('users.resetHelp')}</p>
    </Confirm>
  )
}

function SwitchConfirm({ user, change, onClose }: TaskProps & { readonly change: 'enable' | 'disable' | 'confirm' }) {
  const text = useText()
  const { userId, name, role, revision } = user
  const action = useAction<void, UserItem>({
    run: () =>
      api.send<UserItem>('POST', `/users/${userId}/${change}`, change === 'disable' ? undefined : { revision }),
    refresh: userKeys,
    onSuccess: () => {
      notify(text(`users.${change}Done`, { name }))
      onClose()
    },
  })
  return (
    <Confirm
      title={text(`users.${change}Title`, { name })}
      open
      onClose={onClose}
      onConfirm={() => action.start()}
      confirm={text(`users.${change}`)}
      danger={change === 'disable'}
      pending={action.pending}
      error={action.error}
    >
      {change !== 'disable' && (
        <p className="strong">
          {text(`common.role.${role}`)}: <UserMerchants user={user} />
        </p>
      )}
      <p>{text(`users.${change}Help`)}</p>
    </Confirm>
  )
}
