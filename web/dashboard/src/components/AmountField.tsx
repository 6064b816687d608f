import { useState } from 'react'
import { TextField as AriaTextField, Input } from 'react-aria-components'
import { useText } from '../app/texts'
import { FieldHelp, FieldLabel, type FieldWords } from './Field'
import { useAmounts } from './use-amounts'

interface AmountFieldProps extends FieldWords {
  readonly name: string
  readonly defaultMinor?: number | null | undefined
  readonly autoFocus?: boolean
  /** Minor units; undefined while what is typed is no amount. */
  readonly onChange?: (minor: number | undefined) => void
}

/** Typed as the viewer writes amounts; Form gives minor units. */
export function AmountField({ name, defaultMinor, autoFocus = false, onChange, ...words }: AmountFieldProps) {
  const text = useText()
  const { code, parse, formatField } = useAmounts()
  const { label, description, required = false } = words
  const [typed, setTyped] = useState(
    defaultMinor === undefined || defaultMinor === null ? '' : formatField(defaultMinor),
  )
  const change = (value: string) => {
    setTyped(value)
    onChange?.(parse(value))
  }
  const validate = (value: string) =>
    value === '' || parse(value) !== undefined ? null : text('common.wrongAmount', { example: formatField(123_450) })
  return (
    <AriaTextField
      className="Field"
      name={name}
      value={typed}
      onChange={change}
      inputMode="decimal"
      autoComplete="off"
      isRequired={required}
      autoFocus={autoFocus}
      validate={validate}
    >
      <FieldLabel {...words} label={`${label} (${code})`} required={required} />
      <Input className="Field-input" data-minor={parse(typed) ?? ''} />
      <FieldHelp description={description} />
    </AriaTextField>
  )
}
