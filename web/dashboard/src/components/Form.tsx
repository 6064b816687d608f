import { type FormEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { Form as AriaForm } from 'react-aria-components'
import { ApiError } from '../api/api-error'
import { useText } from '../app/texts'
import { Button } from './Button'
import { Problem } from './Problem'
import { useRefusalText } from './shown-refusals'
import './Form.css'

interface FormProps {
  readonly onSubmit: (data: FormData) => void
  /** Shown at the fields that the server names, and above the buttons. */
  readonly error: Error | null
  /** The label of the submit button. */
  readonly submit: string
  readonly pending: boolean
  readonly cancel?: (() => void) | undefined
  readonly danger?: boolean
  readonly children: ReactNode
}

const noFields = {}

export function Form({ onSubmit, error, submit, pending, cancel, danger = false, children }: FormProps) {
  const text = useText()
  const refusalText = useRefusalText()
  // A field with a server error blocks the form. The fix may be in a different field, so any input clears all server errors.
  const [dismissed, setDismissed] = useState<Error | null>(null)
  const [names, setNames] = useState<readonly string[]>([])
  const handle = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (pending) return
    const data = new FormData(event.currentTarget)
    for (const input of event.currentTarget.querySelectorAll<HTMLInputElement>('input[data-minor]')) {
      data.set(input.name, input.dataset.minor ?? '')
    }
    setNames([...data.keys()])
    onSubmit(data)
  }
  const ref = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (error) ref.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [error])
  const fields = useMemo(() => {
    if (!(error instanceof ApiError) || error === dismissed) return noFields
    return Object.fromEntries(Object.entries(error.fields).map(([name, reason]) => [name, refusalText(reason)]))
  }, [error, dismissed, refusalText])
  return (
    <AriaForm ref={ref} className="Form" onSubmit={handle} validationErrors={fields}>
      <div className="Form-fields" onInput={() => setDismissed(error)}>
        {children}
      </div>
      {error && <Problem error={error} shownFields={names} />}
      <div className="Form-buttons">
        <Button type="submit" look={danger ? 'danger' : 'primary'} pending={pending}>
          {submit}
        </Button>
        {cancel && <Button onPress={cancel}>{text('common.cancel')}</Button>}
      </div>
    </AriaForm>
  )
}
