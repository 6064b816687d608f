import { useCallback } from 'react'
import { useKnownText } from './texts'

/** Where events have words: those of transfers, of merchants and people, and of the rest. */
const areas = ['transfer', 'users', 'audit'] as const

export const eventTextForm = new RegExp(`^(?:${areas.join('|')})\\.event\\.(.+)$`)

/** What an event says in words; its type where there are none yet. */
export function useEventName(): (type: string) => string {
  const known = useKnownText()
  return useCallback(
    (type) => areas.map((area) => known(`${area}.event.${type}`)).find((words) => words !== undefined) ?? type,
    [known],
  )
}
