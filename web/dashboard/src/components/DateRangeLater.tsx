import { type ComponentProps, lazy, Suspense } from 'react'
import { Loading } from './Loaded'

const DateRange = lazy(async () => ({ default: (await import('./DateRange')).DateRange }))

/** A DateRange that is loaded when it is shown, because its calendar is a tenth of the first page. */
export function DateRangeLater(props: ComponentProps<typeof DateRange>) {
  return (
    <Suspense fallback={<Loading />}>
      <DateRange {...props} />
    </Suspense>
  )
}
