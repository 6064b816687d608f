import { type TextFieldProps as AriaProps, TextField as AriaTextField, Input, TextArea } from 'react-aria-components'
import { FieldHelp, FieldLabel, type FieldTexts } from './Field'

interface TextFieldProps
  extends FieldTexts,
    Pick<
      AriaProps,
      | 'name'
      | 'type'
      | 'value'
      | 'defaultValue'
      | 'onChange'
      | 'validate'
      | 'autoComplete'
      | 'inputMode'
      | 'maxLength'
      | 'minLength'
      | 'pattern'
      | 'isDisabled'
      | 'isReadOnly'
      | 'autoFocus'
    > {
  readonly multiline?: boolean
  readonly placeholder?: string | undefined
  readonly spellCheck?: boolean
}

export function TextField(props: TextFieldProps) {
  const {
    label,
    description,
    required = false,
    hiddenLabel = false,
    before,
    multiline = false,
    placeholder = '',
    spellCheck = multiline,
    ...field
  } = props
  return (
    <AriaTextField {...field} spellCheck={spellCheck ? 'true' : 'false'} isRequired={required} className="Field">
      <FieldLabel label={label} required={required} hiddenLabel={hiddenLabel} before={before} />
      {multiline ? (
        <TextArea className="Field-input" placeholder={placeholder} />
      ) : (
        <Input className="Field-input" placeholder={placeholder} />
      )}
      <FieldHelp description={description} before={before} type={field.type} />
    </AriaTextField>
  )
}
