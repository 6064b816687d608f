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
  /** Shows the label to screen readers only. */
  readonly hiddenLabel?: boolean
}

export function FieldLabel({ label, required = true, hiddenLabel = false }: FieldTexts) {
  const text = useText()
  return (
    <Label className={hiddenLabel ? 'visually-hidden' : 'Field-label'}>
      {label}
      {!required && <span className="muted"> ({text('common.optional')})</span>}
    </Label>
  )
}

export function FieldHelp({ description }: Pick<FieldTexts, 'description'>) {
  const text = useText()
  return (
    <>
      {description && (
        <Text slot="description" className="Field-help">
          {description}
        </Text>
      )}
      <FieldError className="Field-error">
        {({ validationDetails, validationErrors }) => (
          <>
            <CircleAlert className="icon-12" />
            {validationDetails.valueMissing ? text('common.required') : validationErrors.join(' ')}
          </>
        )}
      </FieldError>
    </>
  )
}
