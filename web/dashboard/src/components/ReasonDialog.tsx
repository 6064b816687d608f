import type { QueryKey } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useAction } from '../api/use-action'
import { useText } from '../app/texts'
import { Dialog } from './Dialog'
import { Form } from './Form'
import { TextField } from './TextField'

interface ReasonDialogProps<Answer> {
  readonly title: string
  readonly submit: string
  /** What kind of reason, and who reads it. */
  readonly reasonHelp: string
  readonly run: (reason: string) => Promise<Answer>
  readonly refresh: readonly QueryKey[]
  readonly done: (answer: Answer) => void
  readonly onClose: () => void
  /** What it is about and what follows; also what has to be typed before the reason. */
  readonly children: ReactNode
}

/** For what is decided with a reason that stays in the log, and is not taken back. */
export function ReasonDialog<Answer>(props: ReasonDialogProps<Answer>) {
  const { title, submit, reasonHelp, run, refresh, done, onClose, children } = props
  const text = useText()
  const action = useAction({
    run: (data: FormData) => run(String(data.get('reason')).trim()),
    refresh,
    done,
  })
  return (
    <Dialog title={title} open onClose={onClose}>
      <Form
        onSubmit={action.start}
        error={action.error}
        submit={submit}
        pending={action.pending}
        cancel={onClose}
        danger
      >
        {children}
        <TextField
          name="reason"
          label={text('operations.reason')}
          description={reasonHelp}
          maxLength={500}
          multiline
          required
        />
      </Form>
    </Dialog>
  )
}
