let hasAll = false
let note: () => void = () => undefined

/** Resolves when all texts of a language have been shown for the first time. Until then, only the first page has its texts. */
export const allTexts = new Promise<void>((resolve) => {
  note = resolve
})

export function hasAllTexts(): boolean {
  return hasAll
}

export function noteAllTexts(): void {
  hasAll = true
  note()
}
