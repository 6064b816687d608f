import type { Destination } from './navigation'

interface NavigationCount {
  readonly count: number
  /** `person`: a person should look. `bad`: something is broken. */
  readonly tone: 'plain' | 'person' | 'bad'
}

/** Returns the numbers next to the destinations that have something to do. */
export function useNavigationCounts(): { readonly [to in Destination['to']]?: NavigationCount } {
  return {}
}
