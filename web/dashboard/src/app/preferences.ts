/** What this browser keeps; nothing where it keeps nothing (a private window may refuse). */
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
    // It holds until the page is closed.
  }
}
