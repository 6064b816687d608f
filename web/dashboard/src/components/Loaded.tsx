import type { ReactNode } from 'react'
import { useConnection } from '../api/connection'
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

/**
 * Shows the data of a query. If fetching it again fails, the earlier data stays below the error. Without a connection, the page states it
 * once for all of its parts.
 */
export function Loaded<Data>({ query: { data, error, refetch }, children }: LoadedProps<Data>) {
  const { isLost } = useConnection()
  const hasData = data !== undefined && data !== null
  return (
    <>
      {error && !(isLost && hasData) && <Problem error={error} reading retry={() => void refetch()} />}
      {hasData ? children(data) : !error && <Loading />}
    </>
  )
}

const rows = [1, 2, 3, 4]

/** Shows the shape of rows, after a delay. */
export function Loading() {
  const text = useText()
  return (
    <output className="Loading">
      <span className="visually-hidden">{text('common.loading')}</span>
      {rows.map((row) => (
        <span key={row} className="Loading-row" aria-hidden="true">
          <span className="Loading-bone" />
          <span className="Loading-bone" />
          <span className="Loading-bone" />
        </span>
      ))}
    </output>
  )
}
