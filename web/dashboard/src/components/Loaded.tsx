import type { ReactNode } from 'react'
import { useText } from '../app/texts'
import { Problem } from './Problem'
import './Loaded.css'

interface LoadedProps<Data> {
  /** The result of useQuery. */
  readonly query: {
    readonly data: Data | undefined
    readonly error: Error | null
    readonly refetch: () => unknown
  }
  readonly children: (data: NonNullable<Data>) => ReactNode
}

/** Shows the data of a query. If fetching it again fails, the earlier data stays below the error. */
export function Loaded<Data>({ query: { data, error, refetch }, children }: LoadedProps<Data>) {
  return (
    <>
      {error && <Problem error={error} reading retry={() => void refetch()} />}
      {data === undefined || data === null ? !error && <Loading /> : children(data)}
    </>
  )
}

export function Loading() {
  const text = useText()
  return <output className="Loading">{text('common.loading')}</output>
}
