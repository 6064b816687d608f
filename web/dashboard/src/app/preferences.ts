/**
 * Returns a preference stored in this browser, or `undefined` if the browser blocks storage, as private windows may.
 */
export function preference(name: string): string | undefined {
  try {
    return localStorage.getItem(`transferd.${name}`) ?? undefined
  } catch {
    return undefined
  }
}

export function setPreference(name: string, value: string): void {
  try {
    localStorage.setItem(`transferd.${name}`, value)
  } catch {
    // Without storage the preference lasts until the page is closed.
  }
}
