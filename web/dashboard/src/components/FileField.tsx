import { useId, useState } from 'react'
import { useText } from '../app/texts'
import './Field.css'

interface FileFieldProps {
  readonly name: string
  readonly label: string
  readonly accept: string
  readonly description?: string
  readonly required?: boolean
}

/** A file input. The form data contains a File, whose size is 0 if none was chosen. */
export function FileField({ name, label, accept, description, required = false }: FileFieldProps) {
  const text = useText()
  const id = useId()
  const [isMissing, setMissing] = useState(false)
  const described = [description !== undefined && `${id}-help`, isMissing && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div className="Field">
      <label className="Field-label" htmlFor={id}>
        {label}
        {!required && <span className="muted"> ({text('common.optional')})</span>}
      </label>
      <input
        id={id}
        className="Field-input Field-file"
        type="file"
        name={name}
        accept={accept}
        required={required}
        data-invalid={isMissing || undefined}
        aria-invalid={isMissing}
        aria-describedby={described || undefined}
        onInvalid={(event) => {
          // The browser's own message may be in a different language.
          event.preventDefault()
          setMissing(true)
        }}
        onChange={() => setMissing(false)}
      />
      {description !== undefined && (
        <span id={`${id}-help`} className="Field-help">
          {description}
        </span>
      )}
      {isMissing && (
        <span id={`${id}-error`} className="Field-error">
          {text('common.required')}
        </span>
      )}
    </div>
  )
}
