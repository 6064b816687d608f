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
  /** Two parameters: created from, and before. */
  | { readonly type: 'dates'; readonly from: string; readonly to: string }

type Values = Readonly<Record<string, string | undefined>>

interface FiltersProps {
  /** The address's search parameters. */
  readonly values: Values
  /** Those of the fields alone: what else the address says stays with whoever navigates. */
  readonly onChange: (values: Values) => void
  readonly fields: readonly FilterField[]
}

const settleMs = 350

function namesOf(field: FilterField): readonly string[] {
  return field.type === 'dates' ? [field.from, field.to] : [field.name]
}

/** Each change is in the address at once, text when typing pauses. */
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
        {text('common.filtersActive', { count: active })}
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
          write={(minor) => (/^\d{1,15}$/.test(minor) ? amounts.formatField(BigInt(minor)) : '')}
          read={(typed) => amounts.parse(typed)?.toString()}
          tell={(minor) => set({ [field.name]: minor })}
        />
      )
    case 'text':
      return (
        <TypedFilter
          {...field}
          value={values[field.name]}
          write={(words) => words}
          read={(typed) => typed.trim()}
          tell={(words) => set({ [field.name]: words })}
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
  /** As the address has it. */
  readonly value: string | undefined
  /** How such a value is typed. */
  readonly write: (value: string) => string
  /** The value that was typed; undefined when it is none, and nothing is told. */
  readonly read: (typed: string) => string | undefined
  readonly tell: (value: string | undefined) => void
}

/** What is being typed is never overwritten by what was told of it before; the address's own changes (back, cleared) are. */
function TypedFilter({ label, description, type, value, write, read, tell }: TypedFilterProps) {
  const [typed, setTyped] = useState(() => write(value ?? ''))
  const [seen, setSeen] = useState(value)
  const [told, setTold] = useState(value)
  if (value !== seen) {
    setSeen(value)
    if (value !== told) {
      setTold(value)
      setTyped(write(value ?? ''))
    }
  }
  const settle = useEffectEvent((words: string) => {
    const next = words === '' ? '' : read(words)
    if (next === undefined || next === (told ?? '')) return
    setTold(next || undefined)
    tell(next || undefined)
  })
  // Only typing starts the wait anew: what is around it changes twice a second while the page is live.
  useEffect(() => {
    const timer = setTimeout(settle, settleMs, typed)
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
