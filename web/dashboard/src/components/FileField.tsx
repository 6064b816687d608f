import { useId } from 'react'
import './Field.css'

interface FileFieldProps {
  readonly name: string
  readonly label: string
  readonly accept: string
  readonly description?: string
  readonly onChange?: (file: File | undefined) => void
}

/** In the form's data: a File, whose size is 0 when none was chosen. */
export function FileField({ name, label, accept, description, onChange }: FileFieldProps) {
  const id = useId()
  return (
    <div className="Field">
      <label className="Field-label" htmlFor={id}>
        {label}
      </label>
      <input
        id={id}
        className="Field-input Field-file"
        type="file"
        name={name}
        accept={accept}
        aria-describedby={description === undefined ? undefined : `${id}-help`}
        onChange={({ target }) => onChange?.(target.files?.[0])}
      />
      {description !== undefined && (
        <span id={`${id}-help`} className="Field-help">
          {description}
        </span>
      )}
    </div>
  )
}
