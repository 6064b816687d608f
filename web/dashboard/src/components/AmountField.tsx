import { useState } from 'react'
import { TextField as AriaTextField, Input } from 'react-aria-components'
import { useText } from '../app/texts'
import { FieldHelp, FieldLabel, type FieldTexts } from './Field'
import { useAmounts } from './use-amounts'

interface AmountFieldProps extends FieldTexts {
  readonly name: string
  readonly defaultMinor?: number | null | undefined
  readonly autoFocus?: boolean
  /** Receives minor units, or `undefined` while the typed text is not a valid amount. */
  readonly onChange?: (minor: number | undefined) => void
}

/** A field for an amount in the viewer's notation. Form submits its value in minor units. */
export function AmountField({ name, defaultMinor, autoFocus = false, onChange, ...texts }: AmountFieldProps) {
  const text = useText()
  const { code, parse, formatField } = useAmounts()
  const { label, description, before, required = false } = texts
  const [typed, setTyped] = useState(
    defaultMinor === undefined || defaultMinor === null ? '' : formatField(defaultMinor),
  )
  const change = (value: string) => {
    setTyped(value)
    onChange?.(parse(value))
  }
  const validate = (value: string) =>
    value === '' || parse(value) !== undefined ? null : text('common.invalidAmount', { example: formatField(123_450) })
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
      <FieldLabel {...texts} label={`${label} (${code})`} required={required} />
      <Input className="Field-input" data-minor={parse(typed) ?? ''} />
      <FieldHelp description={description} before={before} />
    </AriaTextField>
  )
}
