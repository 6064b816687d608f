import { Check } from 'lucide-react'
import type { ReactNode } from 'react'
import {
  Checkbox as AriaCheckbox,
  CheckboxGroup as AriaCheckboxGroup,
  type CheckboxGroupProps as AriaGroupProps,
  type CheckboxProps as AriaProps,
} from 'react-aria-components'
import { Changed, FieldHelp, FieldLabel, type FieldTexts } from './Field'

interface CheckboxProps
  extends Pick<AriaProps, 'name' | 'value' | 'defaultSelected' | 'isSelected' | 'onChange' | 'isDisabled'> {
  readonly label: string
  readonly before?: ReactNode
}

export function Checkbox({ label, before, ...props }: CheckboxProps) {
  return (
    <AriaCheckbox {...props} className="Checkbox">
      <span className="Checkbox-box" aria-hidden="true">
        <Check className="icon-12" />
      </span>
      <span>
        {label}
        {before !== undefined && <Changed />}
      </span>
    </AriaCheckbox>
  )
}

interface CheckboxGroupProps extends FieldTexts, Pick<AriaGroupProps, 'name' | 'value' | 'defaultValue' | 'onChange'> {
  readonly options: readonly { readonly value: string; readonly label: string }[]
}

export function CheckboxGroup({ options, label, description, required = false, ...props }: CheckboxGroupProps) {
  return (
    <AriaCheckboxGroup {...props} isRequired={required} className="Field">
      <FieldLabel label={label} required={required} />
      <div className="Field-group">
        {options.map((option) => (
          <Checkbox key={option.value} {...option} />
        ))}
      </div>
      <FieldHelp description={description} />
    </AriaCheckboxGroup>
  )
}
