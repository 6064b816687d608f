import { type Key, ToggleButton, ToggleButtonGroup } from 'react-aria-components'
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
  const change = ([chosen]: Iterable<Key>) => chosen !== undefined && onChange(String(chosen))
  return (
    <ToggleButtonGroup
      className="Segments"
      aria-label={label}
      disallowEmptySelection
      selectedKeys={[value]}
      onSelectionChange={change}
    >
      {options.map((option) => (
        <ToggleButton key={option.value} id={option.value} className="Segments-option">
          {option.label}
        </ToggleButton>
      ))}
    </ToggleButtonGroup>
  )
}
