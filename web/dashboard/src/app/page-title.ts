import { useEffect, useSyncExternalStore } from 'react'

/** The name of this installation, which the server writes into the page. */
const installation = document.querySelector<HTMLMetaElement>('meta[name="application-name"]')?.content ?? 'transferd'

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

/** Sets the title of the browser's tab, which tells the tabs of two installations apart. */
export function useDocumentTitle(page: string): void {
  useEffect(() => {
    document.title = `${page} · ${installation}`
  }, [page])
}

/** Returns the title of the shown page, for the header. */
export function usePageTitle(): string {
  return useSyncExternalStore(subscribe, () => title)
}
