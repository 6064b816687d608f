import { useSyncExternalStore } from 'react'

let title = ''
const listeners = new Set<() => void>()

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Called by the page that is shown. */
export function setPageTitle(next: string): void {
  title = next
  for (const listener of listeners) listener()
}

/** Returns the title of the shown page, for the header. */
export function usePageTitle(): string {
  return useSyncExternalStore(subscribe, () => title)
}
