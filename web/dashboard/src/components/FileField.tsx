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

/** In the form's data: a File, whose size is 0 when none was chosen. */
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
          // The browser would say it in words, and perhaps a language, of its own.
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
          {text('common.needed')}
        </span>
      )}
    </div>
  )
}
