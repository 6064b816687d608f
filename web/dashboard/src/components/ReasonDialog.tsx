import type { QueryKey } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useAction } from '../api/use-action'
import { useText } from '../app/texts'
import { Dialog } from './Dialog'
import { Form } from './Form'
import { fieldText } from './form-data'
import { TextField } from './TextField'

interface ReasonDialogProps<Result> {
  readonly title: string
  readonly submit: string
  /** The help text of the reason: where it is kept, and who reads it. */
  readonly reasonHelp: string
  readonly run: (reason: string) => Promise<Result>
  readonly refresh: readonly QueryKey[]
  readonly onSuccess: (result: Result) => void
  readonly onClose: () => void
  /** The consequences of the decision, and fields that come before the reason. */
  readonly children: ReactNode
}

/** Requests the reason of a permanent decision. The reason is kept in the log. */
export function ReasonDialog<Result>(props: ReasonDialogProps<Result>) {
  const { title, submit, reasonHelp, run, refresh, onSuccess, onClose, children } = props
  const text = useText()
  const action = useAction({
    run: (data: FormData) => run(fieldText(data, 'reason')),
    refresh,
    onSuccess,
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
          label={text('fields.reason')}
          description={reasonHelp}
          maxLength={500}
          multiline
          required
        />
      </Form>
    </Dialog>
  )
}
