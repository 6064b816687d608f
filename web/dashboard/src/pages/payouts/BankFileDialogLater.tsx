import { type ComponentProps, lazy, Suspense } from 'react'
import { Loading } from '../../components/Loaded'

const BankFileDialog = lazy(async () => ({ default: (await import('./BankFileDialog')).BankFileDialog }))

/** A BankFileDialog that is loaded when it is opened, because its calendar is a tenth of the page. */
export function BankFileDialogLater(props: ComponentProps<typeof BankFileDialog>) {
  return (
    <Suspense fallback={<Loading />}>
      <BankFileDialog {...props} />
    </Suspense>
  )
}
