import { useState } from 'react'
import { useAction } from '../../api/action'
import { api } from '../../api/api'
import type { CreateUserRequest, IssuedPassword } from '../../api/contract'
import { useText } from '../../app/texts'
import { Dialog } from '../../components/Dialog'
import { Form } from '../../components/Form'
import { TextField } from '../../components/TextField'
import { IssuedPasswordDialog } from './IssuedPasswordDialog'
import { RoleFields, roleOf } from './RoleFields'
import { userKeys } from './users'

interface CreatePersonDialogProps {
  readonly onClose: () => void
  readonly onCreated: (userId: string) => void
}

export function CreatePersonDialog({ onClose, onCreated }: CreatePersonDialogProps) {
  const text = useText()
  const [issued, setIssued] = useState<IssuedPassword>()
  const action = useAction({
    run: (data: FormData) => {
      const body: CreateUserRequest = {
        email: String(data.get('email')).trim(),
        name: String(data.get('name')).trim(),
        ...roleOf(data),
      }
      return api.send<IssuedPassword>('POST', '/users', body)
    },
    refresh: userKeys,
    done: setIssued,
  })
  if (issued) return <IssuedPasswordDialog issued={issued} onClose={() => onCreated(issued.user.userId)} />
  return (
    <Dialog title={text('people.create')} open onClose={onClose}>
      <Form
        onSubmit={action.start}
        error={action.error}
        submit={text('people.createSubmit')}
        pending={action.pending}
        cancel={onClose}
      >
        <TextField name="name" label={text('people.name')} description={text('people.nameHelp')} required />
        <TextField
          name="email"
          type="email"
          label={text('people.email')}
          description={text('people.emailHelp')}
          required
        />
        <RoleFields />
      </Form>
    </Dialog>
  )
}
