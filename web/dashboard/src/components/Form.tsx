import { type FormEvent, type ReactNode, useEffect, useEffectEvent, useMemo, useRef, useState } from 'react'
import { Form as AriaForm } from 'react-aria-components'
import { ApiError } from '../api/api-error'
import { useText } from '../app/texts'
import { Button } from './Button'
import { dataOf, inputOf } from './form-data'
import { Problem } from './Problem'
import { useRefusalText } from './shown-refusals'
import './Form.css'

interface FormProps {
  readonly onSubmit: (data: FormData) => void
  /** Shown at the fields that the server names, and above the buttons. */
  readonly error: Error | null
  /** The label of the submit button. */
  readonly submit?: string
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
  /** Called after each edit with what the form would submit. */
  readonly onEdit?: (data: FormData) => void
  /** Replaces the buttons. */
  readonly footer?: ReactNode
  readonly children: ReactNode
}

const noFields = {}
const noNames: readonly string[] = []

/** A choice from a list changes its field without an event in the form, but then the focus comes back. */
const edits = ['input', 'change', 'focusin'] as const

export function Form(props: FormProps) {
  const { onSubmit, error, submit, pending, cancel, cancelText, danger = false, focusSubmit = false } = props
  const { shownFields = noNames, unready = false, onEdit, footer, children } = props
  const text = useText()
  const refusalText = useRefusalText()
  // A field with a server error blocks the form. The fix may be in a different field, so any input clears all server errors.
  const [dismissed, setDismissed] = useState<Error | null>(null)
  const [names, setNames] = useState<readonly string[]>([])
  const handle = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (pending || unready) return
    const data = dataOf(event.currentTarget)
    setNames([...data.keys()])
    onSubmit(data)
  }
  const ref = useRef<HTMLFormElement>(null)
  const noteEdit = useEffectEvent(() => {
    if (onEdit) setTimeout(() => ref.current && onEdit(dataOf(ref.current)))
  })
  useEffect(() => {
    const form = ref.current
    const note = () => noteEdit()
    for (const event of edits) form?.addEventListener(event, note, true)
    return () => {
      for (const event of edits) form?.removeEventListener(event, note, true)
    }
  }, [])
  useEffect(() => {
    if (error) ref.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [error])
  const fields = useMemo(() => {
    if (!(error instanceof ApiError) || error === dismissed) return noFields
    const shown: Record<string, string> = {}
    for (const [name, reason] of Object.entries(error.fields))
      shown[inputOf(name, names) ?? name] ??= refusalText(reason)
    return shown
  }, [error, dismissed, names, refusalText])
  // The children say it all if they show every field of the error.
  const refused = error instanceof ApiError ? Object.keys(error.fields) : []
  const isShown = refused.length > 0 && refused.every((name) => shownFields.includes(name))
  const atInputs = refused.filter((name) => inputOf(name, names))
  return (
    <AriaForm ref={ref} className="Form" onSubmit={handle} validationErrors={fields}>
      <div className="Form-fields" onInput={() => setDismissed(error)}>
        {children}
      </div>
      {error && !isShown && <Problem error={error} shownFields={[...atInputs, ...shownFields]} />}
      {footer ?? (
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
      )}
    </AriaForm>
  )
}
