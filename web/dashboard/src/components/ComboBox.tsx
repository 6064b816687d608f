import { ChevronsUpDown } from 'lucide-react'
import { ComboBox as AriaComboBox, Button, Input, type Key, Popover } from 'react-aria-components'
import { useText } from '../app/texts'
import { FieldHelp, FieldLabel, type FieldTexts } from './Field'
import { type Option, Options } from './Select'

interface ComboBoxProps extends FieldTexts {
  readonly options: readonly Option[]
  readonly value: string
  readonly onChange: (value: string) => void
}

/** A choice from a long list, with a search field. */
export function ComboBox({ options, value, onChange, ...texts }: ComboBoxProps) {
  const text = useText()
  const { required = true, description } = texts
  const change = (key: Key | null) => onChange(String(key ?? ''))
  return (
    <AriaComboBox value={value} menuTrigger="focus" onChange={change} isRequired={required} className="Field">
      <FieldLabel {...texts} required={required} />
      <div className="ComboBox-box">
        <Input className="Field-input" />
        <Button className="ComboBox-button" aria-label={text('common.showOptions')}>
          <ChevronsUpDown />
        </Button>
      </div>
      <FieldHelp description={description} />
      <Popover className="Popover">
        <Options options={options} />
      </Popover>
    </AriaComboBox>
  )
}
