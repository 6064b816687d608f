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
  /** The label of the button that closes the form; defaults to "Go back". */
  readonly cancelText?: string
  readonly danger?: boolean
  /** The submit button has the focus, because nothing has to be typed. */
  readonly focusSubmit?: boolean
  /** Ignores the submit button for now. */
  readonly unready?: boolean
  /** The fields whose errors the children show. */
  readonly shownFields?: readonly string[]
  readonly children: ReactNode
}

const noFields = {}
const noNames: readonly string[] = []

export function Form(props: FormProps) {
  const { onSubmit, error, submit, pending, cancel, cancelText, danger = false, focusSubmit = false } = props
  const { shownFields = noNames, unready = false, children } = props
  const text = useText()
  const refusalText = useRefusalText()
  // A field with a server error blocks the form. The fix may be in a different field, so any input clears all server errors.
  const [dismissed, setDismissed] = useState<Error | null>(null)
  const [names, setNames] = useState<readonly string[]>([])
  const handle = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (pending || unready) return
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
      {error && <Problem error={error} shownFields={[...names, ...shownFields]} />}
      <div className="Form-buttons">
        <Button
          type="submit"
          look={danger ? 'danger' : 'primary'}
          pending={pending}
          autoFocus={focusSubmit}
          aria-disabled={unready}
        >
          {submit}
        </Button>
        {cancel && <Button onPress={cancel}>{cancelText ?? text('common.cancel')}</Button>}
      </div>
    </AriaForm>
  )
}
