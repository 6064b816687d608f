import type { ReactNode } from 'react'
import { FieldError, Label, Text } from 'react-aria-components'
import { useText } from '../app/texts'
import './Field.css'

/** What every field says of itself. Inside React Aria's fields they are tied to the input. */
export interface FieldWords {
  readonly label: string
  readonly description?: ReactNode
  readonly required?: boolean
  /** The label is for screen readers only. */
  readonly unseenLabel?: boolean
}

export function FieldLabel({ label, required = true, unseenLabel = false }: FieldWords) {
  const text = useText()
  return (
    <Label className={unseenLabel ? 'unseen' : 'Field-label'}>
      {label}
      {!required && <span className="muted"> ({text('common.optional')})</span>}
    </Label>
  )
}

export function FieldHelp({ description }: Pick<FieldWords, 'description'>) {
  const text = useText()
  return (
    <>
      {description && (
        <Text slot="description" className="Field-help">
          {description}
        </Text>
      )}
      <FieldError className="Field-error">
        {({ validationDetails, validationErrors }) =>
          validationDetails.valueMissing ? text('common.needed') : validationErrors.join(' ')
        }
      </FieldError>
    </>
  )
}
