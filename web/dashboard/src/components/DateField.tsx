import { type ComponentProps, Suspense } from 'react'
import { lazyPart } from '../app/lazy-page'
import { FieldLabel } from './Field'
import './DateField.css'

const CalendarField = lazyPart(async () => (await import('./CalendarField')).CalendarField)

type DateFieldProps = ComponentProps<typeof CalendarField>

/** A date field in the chosen language. It is loaded after the page, because it is a tenth of the code of one. */
export function DateField(props: DateFieldProps) {
  return (
    <Suspense fallback={<EarlyField {...props} />}>
      <CalendarField {...props} />
    </Suspense>
  )
}

/** Keeps the place of the field, and submits its value. */
function EarlyField({ name, value, defaultValue, precision, label, description, required = false }: DateFieldProps) {
  return (
    <div className="Field DateField">
      <FieldLabel label={label} required={required} />
      <div className="Field-input DateField-box" data-precision={precision} />
      {description && <span className="Field-help">{description}</span>}
      {name !== undefined && <input type="hidden" name={name} value={value ?? defaultValue ?? ''} />}
    </div>
  )
}
