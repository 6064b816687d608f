import { CircleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { FieldError, Label, Text } from 'react-aria-components'
import { useText } from '../app/texts'
import './Field.css'

/** The texts of a field. React Aria associates them with the input. */
export interface FieldTexts {
  readonly label: string
  readonly description?: ReactNode
  readonly required?: boolean
  /** The saved value, shown while the field has a different one. */
  readonly before?: ReactNode
  /** Shows the label to screen readers only. */
  readonly hiddenLabel?: boolean
}

export function FieldLabel({ label, required = true, hiddenLabel = false, before }: FieldTexts) {
  const text = useText()
  return (
    <Label className={hiddenLabel ? 'visually-hidden' : 'Field-label'}>
      {label}
      {before !== undefined && <Changed />}
      {!required && <span className="muted"> ({text('common.optional')})</span>}
    </Label>
  )
}

export function Changed() {
  return <span className="Field-changed"> {useText()('common.changed')}</span>
}

type FieldHelpProps = Pick<FieldTexts, 'description' | 'before'>

/** Shows the help, and the error in the language of the page. The browser's own messages are in the language of the browser. */
export function FieldHelp({ description, before }: FieldHelpProps) {
  const text = useText()
  const messageOf = (details: ValidityState): string | undefined => {
    if (details.valueMissing) return text('common.required')
    if (details.tooShort) return text('common.tooShort')
    if (details.badInput) return text('common.invalidFormat')
    return undefined
  }
  return (
    <>
      {description && (
        <Text slot="description" className="Field-help">
          {description}
        </Text>
      )}
      {before !== undefined && (
        <span className="Field-help">
          {text('common.before')} {before}
        </span>
      )}
      <FieldError className="Field-error">
        {({ validationDetails, validationErrors }) => (
          <>
            <CircleAlert className="icon-12" />
            {messageOf(validationDetails) ?? validationErrors.join(' ')}
          </>
        )}
      </FieldError>
    </>
  )
}
