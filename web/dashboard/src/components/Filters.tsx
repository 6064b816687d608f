import { Check, ListFilter, Search, X } from 'lucide-react'
import { type ReactNode, useEffect, useEffectEvent, useState } from 'react'
import {
  Menu as AriaMenu,
  TextField as AriaTextField,
  Dialog,
  DialogTrigger,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  MenuItem,
  MenuTrigger,
  Popover,
} from 'react-aria-components'
import { useIntl } from 'react-intl'
import { useText } from '../app/texts'
import { Button } from './Button'
import { DateRange } from './DateRange'
import { searchedText } from './form-data'
import { periodName } from './period-names'
import { TextField } from './TextField'
import { TriggerButton } from './TriggerButton'
import { useAmounts } from './use-amounts'
import './Filters.css'
import './Select.css'

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
  /** Explains why a filter is not offered. */
  readonly help?: string | undefined
  /** Shown at the end of the line, such as the number and the sum of the rows. */
  readonly children?: ReactNode
}

const debounceMs = 350

function namesOf(field: FilterField): readonly string[] {
  return field.type === 'dates' ? [field.from, field.to] : [field.name]
}

const keyOf = (field: FilterField) => namesOf(field).join()

/**
 * One line of filters, whose values are kept in the address. The first text is a field, the others are chips: a chip opens its filter, and
 * its cross removes it. Text is applied when typing pauses, everything else immediately.
 */
export function Filters({ values, onChange, fields, help, children }: FiltersProps) {
  const text = useText()
  // The filter that was just added, whose chip is open although it has no value yet.
  const [added, setAdded] = useState<string>()
  const names = fields.flatMap(namesOf)
  const isActive = (field: FilterField) => namesOf(field).some((name) => values[name])
  const current = Object.fromEntries(names.map((name) => [name, values[name]]))
  const set = (changed: Values) => onChange({ ...current, ...changed })
  const typed = fields.find(({ type }) => type === 'text')
  const chips = fields.filter((field) => field !== typed)
  const shown = chips.filter((field) => isActive(field) || keyOf(field) === added)
  const offered = chips.filter((field) => !shown.includes(field))
  const clear = () => onChange(Object.fromEntries(names.map((name) => [name, undefined])))
  return (
    <search className="Filters">
      {typed?.type === 'text' && (
        <SearchField
          key={typed.name}
          label={typed.label}
          description={typed.description}
          value={values[typed.name]}
          onChange={(value) => set({ [typed.name]: value })}
        />
      )}
      {shown.map((field) => (
        <Chip
          key={keyOf(field)}
          field={field}
          values={values}
          set={set}
          isAdded={keyOf(field) === added}
          onClosed={() => setAdded(undefined)}
        />
      ))}
      {offered.length > 0 && <AddFilter fields={offered} help={help} onAdd={setAdded} />}
      {fields.some(isActive) && (
        <Button look="quiet" small onPress={clear}>
          {text('common.clearFilters')}
        </Button>
      )}
      {children && <div className="Filters-end">{children}</div>}
    </search>
  )
}

/** Returns the name of a filter in the menu and on its chip. */
function useFilterName(): (field: FilterField) => string {
  const text = useText()
  return (field) => (field.type === 'dates' ? text('common.dateRange') : field.label)
}

interface AddFilterProps {
  readonly fields: readonly FilterField[]
  readonly help: string | undefined
  readonly onAdd: (key: string) => void
}

function AddFilter({ fields, help, onAdd }: AddFilterProps) {
  const text = useText()
  const nameOf = useFilterName()
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey, target } = event
      const isTyping = target instanceof Element && target.closest('input, textarea, select, [role="dialog"]') !== null
      if (key !== 'f' || ctrlKey || metaKey || altKey || isTyping) return
      event.preventDefault()
      setOpen(true)
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [])
  return (
    <MenuTrigger isOpen={isOpen} onOpenChange={setOpen}>
      <TriggerButton small className="Filters-add" aria-keyshortcuts="f">
        <ListFilter />
        {text('common.filter')}
        <kbd>{text('common.filterKeys')}</kbd>
      </TriggerButton>
      <Popover className="Popover">
        <AriaMenu className="Options" onAction={(key) => onAdd(String(key))}>
          {fields.map((field) => (
            <MenuItem key={keyOf(field)} id={keyOf(field)} className="Option">
              {nameOf(field)}
            </MenuItem>
          ))}
        </AriaMenu>
        {help !== undefined && <p className="Filters-help">{help}</p>}
      </Popover>
    </MenuTrigger>
  )
}

interface ChipProps {
  readonly field: FilterField
  readonly values: Values
  readonly set: (changed: Values) => void
  readonly isAdded: boolean
  readonly onClosed: () => void
}

function Chip({ field, values, set, isAdded, onClosed }: ChipProps) {
  const text = useText()
  const nameOf = useFilterName()
  const shownValue = useFilterValue()
  const [isOpen, setOpen] = useState(isAdded)
  const open = (next: boolean) => {
    setOpen(next)
    if (!next) onClosed()
  }
  const name = nameOf(field)
  const remove = () => set(Object.fromEntries(namesOf(field).map((each) => [each, undefined])))
  return (
    <span className="Filters-chip">
      <DialogTrigger isOpen={isOpen} onOpenChange={open}>
        <TriggerButton look="quiet" small className="Filters-open">
          <span className="Filters-name">{name}</span>
          <span className="Filters-value">{shownValue(field, values)}</span>
        </TriggerButton>
        <Popover className="Popover">
          <Dialog className="Filters-dialog" aria-label={name}>
            <Editor field={field} values={values} set={set} close={() => open(false)} />
          </Dialog>
        </Popover>
      </DialogTrigger>
      <Button
        look="quiet"
        small
        className="Filters-remove"
        aria-label={text('common.removeFilter', { name })}
        onPress={remove}
      >
        <X />
      </Button>
    </span>
  )
}

function useFilterValue(): (field: FilterField, values: Values) => string {
  const text = useText()
  const intl = useIntl()
  const amounts = useAmounts()
  return (field, values) => {
    if (field.type === 'dates') {
      const [from, to] = [values[field.from], values[field.to]]
      const known = periodName(from, to)
      if (known) return text(known)
      const day = (time: string) => intl.formatDate(time, { dateStyle: 'medium' })
      const last = to === undefined ? '' : day(new Date(Date.parse(to) - 1).toISOString())
      return [from === undefined ? '' : day(from), last].join(' – ').trim()
    }
    const value = values[field.name] ?? ''
    if (field.type === 'select') return field.options.find((option) => option.value === value)?.label ?? value
    if (field.type === 'amount' && /^\d{1,15}$/.test(value)) return amounts.format(BigInt(value))
    return value
  }
}

interface EditorProps extends Pick<ChipProps, 'field' | 'values' | 'set'> {
  readonly close: () => void
}

function Editor({ field, values, set, close }: EditorProps) {
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
    case 'select':
      return (
        <ListBox
          autoFocus
          aria-label={field.label}
          className="Options"
          selectionMode="single"
          selectedKeys={[values[field.name] ?? '']}
          onSelectionChange={(keys) => {
            const [key] = keys === 'all' ? [] : [...keys]
            if (key !== undefined) set({ [field.name]: String(key) })
            close()
          }}
        >
          {field.options.map(({ value, label }) => (
            <ListBoxItem key={value} id={value} textValue={label} className="Option">
              {label}
              <Check className="Option-check icon-14" />
            </ListBoxItem>
          ))}
        </ListBox>
      )
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
          parse={searchedText}
          onChange={(value) => set({ [field.name]: value })}
        />
      )
    default:
      return field satisfies never
  }
}

interface TypedValue {
  /** The value in the address. */
  readonly value: string | undefined
  /** Returns a value as the user types it. */
  readonly format: (value: string) => string
  /** Returns the value of the typed text, or `undefined` if it is invalid. Invalid text changes nothing. */
  readonly parse: (typed: string) => string | undefined
  readonly onChange: (value: string | undefined) => void
}

/** Keeps the typed text while its own earlier value arrives in the address. Other changes of the address, such as Back, replace it. */
function useTyped({ value, format, parse, onChange }: TypedValue) {
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
  return [typed, setTyped] as const
}

interface TypedFilterProps extends TypedValue {
  readonly label: string
  readonly description?: string
  readonly type: 'text' | 'amount'
}

function TypedFilter({ label, description, type, ...value }: TypedFilterProps) {
  const [typed, setTyped] = useTyped(value)
  return (
    <TextField
      label={label}
      description={description}
      required
      value={typed}
      onChange={setTyped}
      inputMode={type === 'amount' ? 'decimal' : 'search'}
      autoComplete="off"
      autoFocus
    />
  )
}

interface SearchFieldProps extends Pick<TypedValue, 'value' | 'onChange'> {
  readonly label: string
  readonly description: string | undefined
}

function SearchField({ label, description, value, onChange }: SearchFieldProps) {
  const [typed, setTyped] = useTyped({ value, onChange, format: (each) => each, parse: searchedText })
  return (
    <AriaTextField className="Filters-text" value={typed} onChange={setTyped} type="search">
      <Label className="visually-hidden">{label}</Label>
      <Search />
      <Input placeholder={description ?? label} autoComplete="off" spellCheck="false" />
    </AriaTextField>
  )
}
