import { useEffect, useEffectEvent, useState } from 'react'
import { useText } from '../app/texts'
import { Button } from './Button'
import { DateRange } from './DateRange'
import { Select } from './Select'
import { TextField } from './TextField'
import { useAmounts } from './use-amounts'
import './Filters.css'

export type FilterField =
  | { readonly type: 'text' | 'amount'; readonly name: string; readonly label: string; readonly description?: string }
  | {
      readonly type: 'select'
      readonly name: string
      readonly label: string
      readonly options: readonly { readonly value: string; readonly label: string }[]
    }
  /** A period, in two parameters: from, and before. */
  | { readonly type: 'dates'; readonly from: string; readonly to: string }

type Values = Readonly<Record<string, string | undefined>>

interface FiltersProps {
  /** The search parameters of the address. */
  readonly values: Values
  /** Receives the values of these fields only. The caller keeps other parameters of the address. */
  readonly onChange: (values: Values) => void
  readonly fields: readonly FilterField[]
}

const debounceMs = 350

function namesOf(field: FilterField): readonly string[] {
  return field.type === 'dates' ? [field.from, field.to] : [field.name]
}

/** Filters whose values are kept in the address. Text is applied when typing pauses, everything else immediately. */
export function Filters({ values, onChange, fields }: FiltersProps) {
  const text = useText()
  const [isOpen, setOpen] = useState(false)
  const names = fields.flatMap(namesOf)
  const active = fields.filter((field) => namesOf(field).some((name) => values[name])).length
  const current = Object.fromEntries(names.map((name) => [name, values[name]]))
  const set = (changed: Values) => onChange({ ...current, ...changed })
  return (
    <search className={isOpen ? 'Filters Filters-open' : 'Filters'}>
      <Button className="Filters-toggle" aria-expanded={isOpen} onPress={() => setOpen(!isOpen)}>
        {text('common.filters', { count: active })}
      </Button>
      <div className="Filters-fields">
        {fields.map((field) => (
          <Filter key={namesOf(field).join()} field={field} values={values} set={set} />
        ))}
        {active > 0 && (
          <Button look="quiet" onPress={() => onChange(Object.fromEntries(names.map((name) => [name, undefined])))}>
            {text('common.clearFilters')}
          </Button>
        )}
      </div>
    </search>
  )
}

interface FilterProps {
  readonly field: FilterField
  readonly values: Values
  readonly set: (changed: Values) => void
}

function Filter({ field, values, set }: FilterProps) {
  const text = useText()
  const amounts = useAmounts()
  switch (field.type) {
    case 'dates':
      return (
        <DateRange
          from={values[field.from]}
          to={values[field.to]}
          onChange={({ from, to }) => set({ [field.from]: from, [field.to]: to })}
        />
      )
    case 'select': {
      const options = [{ value: '', label: text('common.all') }, ...field.options]
      return (
        <Select
          label={field.label}
          options={options}
          value={values[field.name] ?? ''}
          onChange={(value) => set({ [field.name]: value || undefined })}
        />
      )
    }
    case 'amount':
      return (
        <TypedFilter
          {...field}
          label={`${field.label} (${amounts.code})`}
          value={values[field.name]}
          format={(minor) => (/^\d{1,15}$/.test(minor) ? amounts.formatField(BigInt(minor)) : '')}
          parse={(typed) => amounts.parse(typed)?.toString()}
          onChange={(minor) => set({ [field.name]: minor })}
        />
      )
    case 'text':
      return (
        <TypedFilter
          {...field}
          value={values[field.name]}
          format={(value) => value}
          parse={(typed) => typed.trim()}
          onChange={(value) => set({ [field.name]: value })}
        />
      )
    default:
      return field satisfies never
  }
}

interface TypedFilterProps {
  readonly label: string
  readonly description?: string
  readonly type: 'text' | 'amount'
  /** The value in the address. */
  readonly value: string | undefined
  /** Returns a value as the user types it. */
  readonly format: (value: string) => string
  /** Returns the value of the typed text, or `undefined` if it is invalid. Invalid text changes nothing. */
  readonly parse: (typed: string) => string | undefined
  readonly onChange: (value: string | undefined) => void
}

/** Keeps the typed text while its own earlier value arrives in the address. Other changes of the address, such as Back, replace it. */
function TypedFilter({ label, description, type, value, format, parse, onChange }: TypedFilterProps) {
  const [typed, setTyped] = useState(() => format(value ?? ''))
  const [seen, setSeen] = useState(value)
  const [applied, setApplied] = useState(value)
  if (value !== seen) {
    setSeen(value)
    if (value !== applied) {
      setApplied(value)
      setTyped(format(value ?? ''))
    }
  }
  const apply = useEffectEvent((text: string) => {
    const next = text === '' ? '' : parse(text)
    if (next === undefined || next === (applied ?? '')) return
    setApplied(next || undefined)
    onChange(next || undefined)
  })
  // Only typing restarts the timer: live pages render this component twice a second.
  useEffect(() => {
    const timer = setTimeout(apply, debounceMs, typed)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <TextField
      label={label}
      description={description}
      required
      value={typed}
      onChange={setTyped}
      inputMode={type === 'amount' ? 'decimal' : 'search'}
      autoComplete="off"
      maxLength={128}
    />
  )
}
