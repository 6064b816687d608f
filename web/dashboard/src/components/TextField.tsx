import { type TextFieldProps as AriaProps, TextField as AriaTextField, Input, TextArea } from 'react-aria-components'
import { normalEmail } from '../../../../src/domain/password-rules'
import { useText } from '../app/texts'
import { FieldHelp, FieldLabel, type FieldTexts } from './Field'
import { type FieldKind, fieldForms } from './form-data'

interface TextFieldProps
  extends FieldTexts,
    Pick<
      AriaProps,
      | 'name'
      | 'value'
      | 'defaultValue'
      | 'onChange'
      | 'autoComplete'
      | 'inputMode'
      | 'minLength'
      | 'isDisabled'
      | 'isReadOnly'
      | 'autoFocus'
    > {
  readonly kind?: FieldKind
  /** The most characters of the cleaned text. A limit of the input would cut a paste before it is cleaned. */
  readonly maxLength?: number
  /** The form of the cleaned text. */
  readonly pattern?: RegExp
  readonly validate?: (cleaned: string) => string | null
  readonly multiline?: boolean
  readonly placeholder?: string | undefined
  readonly spellCheck?: boolean
}

const inputModes = {
  text: 'text',
  url: 'url',
  email: 'email',
  number: 'numeric',
  code: 'text',
  password: 'text',
} as const

export function TextField(props: TextFieldProps) {
  const {
    label,
    description,
    required = false,
    hiddenLabel = false,
    before,
    kind = 'text',
    maxLength = Number.POSITIVE_INFINITY,
    pattern,
    validate,
    multiline = false,
    placeholder = '',
    spellCheck = multiline,
    ...field
  } = props
  const text = useText()
  const check = (typed: string) => {
    const cleaned = fieldForms[kind](typed)
    if (cleaned === '') return required && typed !== '' ? text('common.required') : null
    if (cleaned.length > maxLength) return text('common.tooLong', { most: maxLength })
    if (kind === 'email' && normalEmail(cleaned) === undefined) return text('common.invalidEmail')
    if (kind === 'url' && !URL.canParse(cleaned)) return text('common.invalidUrl')
    const form = kind === 'number' ? wholeNumber : pattern
    if (form && !form.test(cleaned)) return text('common.invalidFormat')
    return validate?.(cleaned) ?? null
  }
  return (
    <AriaTextField
      inputMode={inputModes[kind]}
      {...field}
      type={kind === 'password' ? 'password' : 'text'}
      validate={check}
      spellCheck={spellCheck ? 'true' : 'false'}
      isRequired={required}
      className="Field"
    >
      <FieldLabel label={label} required={required} hiddenLabel={hiddenLabel} before={before} />
      {multiline ? (
        <TextArea className="Field-input" placeholder={placeholder} data-kind={kind} />
      ) : (
        <Input className="Field-input" placeholder={placeholder} data-kind={kind} />
      )}
      <FieldHelp description={description} before={before} />
    </AriaTextField>
  )
}

const wholeNumber = /^-?[0-9]+$/
