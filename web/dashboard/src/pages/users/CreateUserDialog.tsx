import { useState } from 'react'
import type { CreateUserRequest, IssuedPassword } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Dialog } from '../../components/Dialog'
import { Form } from '../../components/Form'
import { fieldText } from '../../components/form-data'
import { TextField } from '../../components/TextField'
import { IssuedPasswordDialog } from './IssuedPasswordDialog'
import { RoleFields, roleOf } from './RoleFields'
import { userKeys } from './use-users'

interface CreatePersonDialogProps {
  readonly onClose: () => void
  readonly onCreated: (userId: string) => void
}

export function CreateUserDialog({ onClose, onCreated }: CreatePersonDialogProps) {
  const text = useText()
  const [issued, setIssued] = useState<IssuedPassword>()
  const action = useAction({
    run: (data: FormData) => {
      const body: CreateUserRequest = {
        email: fieldText(data, 'email'),
        name: fieldText(data, 'name'),
        ...roleOf(data),
      }
      return api.send<IssuedPassword>('POST', '/users', body)
    },
    refresh: userKeys,
    onSuccess: setIssued,
  })
  if (issued) return <IssuedPasswordDialog issued={issued} onClose={() => onCreated(issued.user.userId)} />
  return (
    <Dialog title={text('users.create')} open onClose={onClose}>
      <Form
        onSubmit={action.start}
        error={action.error}
        submit={text('users.createSubmit')}
        pending={action.pending}
        cancel={onClose}
      >
        <TextField name="name" label={text('fields.name')} description={text('users.nameHelp')} required />
        <TextField
          name="email"
          kind="email"
          label={text('fields.email')}
          description={text('users.emailHelp')}
          required
        />
        <RoleFields />
      </Form>
    </Dialog>
  )
}
