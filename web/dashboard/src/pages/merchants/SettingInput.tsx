import { type ReactNode, useState } from 'react'
import { useKnownText, useText } from '../../app/texts'
import { AmountField } from '../../components/AmountField'
import { Checkbox } from '../../components/Checkbox'
import { Select } from '../../components/Select'
import { TextField } from '../../components/TextField'
import { useSettingValue } from './SettingsFacts'
import type { Setting, Settings } from './setting-groups'

interface SettingInputProps {
  readonly setting: Setting
  /** The current settings; omitted for a new merchant. */
  readonly settings?: Settings
  /** The user has changed it and has not saved it. */
  readonly isChanged?: boolean
}

/** Shows the field for a setting. */
export function SettingInput(props: SettingInputProps) {
  const { setting, settings, isChanged = false } = props
  const { name, type, required = false } = setting
  const text = useText()
  const knownText = useKnownText()
  const value = settings?.[name] ?? null
  const label = text(`fields.${name}`)
  const shownValue = useSettingValue()
  const before = settings && isChanged ? shownValue(setting, settings) : undefined
  const field = { name, label, description: knownText(`merchants.help.${name}`), required, before }
  switch (type) {
    case 'flag':
      return <Checkbox name={name} label={label} defaultSelected={value === true} before={before} />
    case 'amount':
      return <AmountField {...field} defaultMinor={typeof value === 'number' ? value : null} />
    case 'lines':
      return <TextField {...field} multiline defaultValue={Array.isArray(value) ? value.join('\n') : ''} />
    case 'signature':
      return <SignatureSelect {...field} initial={settings?.requireSignature ?? 'none'} />
    case 'text':
    case 'url':
    case 'number':
      return <TextField {...field} kind={type} defaultValue={String(value ?? '')} />
  }
}

interface SignatureSelectProps {
  readonly name: string
  readonly label: string
  readonly description: string | undefined
  readonly before: ReactNode
  readonly initial: Settings['requireSignature']
}

const signatureChoices = ['none', 'withdrawals', 'all'] as const

function SignatureSelect({ initial, ...field }: SignatureSelectProps) {
  const text = useText()
  const [value, setValue] = useState<string>(initial)
  const options = signatureChoices.map((choice) => ({ value: choice, label: text(`merchants.signature.${choice}`) }))
  return <Select {...field} options={options} value={value} onChange={setValue} />
}
