/** Of a field that was left empty: nothing. */
export function oneLine(data: FormData, name: string): string {
  return String(data.get(name) ?? '').trim()
}

/** One entry a line; empty lines are none. */
export function lines(data: FormData, name: string): string[] {
  return String(data.get(name) ?? '')
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
