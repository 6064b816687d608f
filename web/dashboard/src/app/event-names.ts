import { useKnownText } from './texts'

/** Returns the display name of an event type, or the type itself if the texts do not contain it yet. */
export function useEventName(): (type: string) => string {
  const known = useKnownText()
  return (type) => known(`events.${type}`) ?? type
}
