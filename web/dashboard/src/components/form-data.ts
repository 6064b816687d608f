/** Returns the trimmed text of a field, or '' if the form does not have it. */
export function fieldText(data: FormData, name: string): string {
  const value = data.get(name)
  return typeof value === 'string' ? value.trim() : ''
}

/** Returns the entries of a field that holds one entry per line, or entries separated by commas. */
export function fieldLines(data: FormData, name: string): string[] {
  const entries = fieldText(data, name).split(/[\n,]/)
  return entries.map((entry) => entry.trim()).filter((entry) => entry !== '')
}

/** Returns the minor units of an amount field, or `undefined` if it is empty. */
export function fieldMinor(data: FormData, name: string): number | undefined {
  const value = fieldText(data, name)
  return value === '' ? undefined : Number(value)
}
