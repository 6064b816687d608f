const stored = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/
/** Matches the forms that mail programs, word processors and PDF files give to hyphens, and the invisible marks that are copied with them. */
const separators = /[\s\p{Dash}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu
const groups = [0, 8, 12, 16, 20, 32]

/**
 * Returns the beginning of a UUID as it is stored, in lower case with hyphens; `undefined` if the text cannot be one. Accepts the forms in
 * which others return a UUID: banks without hyphens, databases and spreadsheets in capitals, documents with spaces or other dashes.
 */
export function storedUuidPrefix(text: string): string | undefined {
  const digits = text.normalize('NFKC').replaceAll(separators, '').toLowerCase()
  if (!/^[\da-f]{1,32}$/.test(digits)) return undefined
  const parts = groups.map((from, n) => digits.slice(from, groups[n + 1]))
  return parts.filter((part) => part !== '').join('-')
}

/** Returns a UUID as {@link storedUuidPrefix} does, and any other text unchanged. */
export function storedUuid(text: string): string {
  const prefix = storedUuidPrefix(text)
  return prefix !== undefined && isStoredUuid(prefix) ? prefix : text
}

/** Returns whether a text is a whole UUID in the form in which it is stored. */
export function isStoredUuid(text: string): boolean {
  return stored.test(text)
}
