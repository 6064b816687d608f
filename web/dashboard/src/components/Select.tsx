import { Check, ChevronsUpDown } from 'lucide-react'
import {
  Select as AriaSelect,
  Button,
  type Key,
  ListBox,
  ListBoxItem,
  Popover,
  SelectValue,
} from 'react-aria-components'
import { FieldHelp, FieldLabel, type FieldTexts } from './Field'
import './Select.css'

export interface Option {
  readonly value: string
  readonly label: string
}

interface SelectProps extends FieldTexts {
  readonly options: readonly Option[]
  readonly name?: string
  readonly value?: string
  readonly defaultValue?: string
  readonly onChange?: (value: string) => void
  readonly placeholder?: string
}

export function Select({ options, name, value, defaultValue, onChange, placeholder, ...texts }: SelectProps) {
  const { required = true, description } = texts
  const chosen = {
    ...(value === undefined ? {} : { value }),
    ...(defaultValue === undefined ? {} : { defaultValue }),
    ...(name === undefined ? {} : { name }),
    ...(placeholder === undefined ? {} : { placeholder }),
  }
  const change = (key: Key | null) => onChange?.(String(key ?? ''))
  return (
    <AriaSelect {...chosen} onChange={change} isRequired={required && name !== undefined} className="Field Select">
      <FieldLabel {...texts} required={required} />
      <Button className="Field-input Select-button">
        <SelectValue className="Select-value" />
        <ChevronsUpDown />
      </Button>
      <FieldHelp description={description} />
      <Popover className="Popover">
        <Options options={options} />
      </Popover>
    </AriaSelect>
  )
}

export function Options({ options }: { readonly options: readonly Option[] }) {
  return (
    <ListBox className="Options">
      {options.map(({ value, label }) => (
        <ListBoxItem key={value} id={value} textValue={label} className="Option">
          {label}
          <Check className="Option-check icon-14" />
        </ListBoxItem>
      ))}
    </ListBox>
  )
}
