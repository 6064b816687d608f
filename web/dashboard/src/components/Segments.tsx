import { useId } from 'react'
import './Segments.css'
import type { Option } from './Select'

interface SegmentsProps {
  /** The name of the choice, for screen readers. */
  readonly label: string
  readonly options: readonly Option[]
  readonly value: string
  readonly onChange: (value: string) => void
}

/** A choice of two or three options that are all visible. */
export function Segments({ label, options, value, onChange }: SegmentsProps) {
  const name = useId()
  return (
    <div className="Segments" role="radiogroup" aria-label={label}>
      {options.map((option) => (
        <label key={option.value} className="Segments-option">
          <input
            type="radio"
            name={name}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
            className="Segments-input"
          />
          {option.label}
        </label>
      ))}
    </div>
  )
}
