/** The result of one check. The dashboard's API has the same shape. */
export interface Check {
  /** A stable name: `disk`, `clock`, `master-key` … */
  readonly name: string
  /** What was checked if the check covers several things, such as a directory or a projection. */
  readonly subject: string | null
  readonly result: 'ok' | 'warning' | 'failed' | 'unknown'
  readonly found: string
  readonly advice: string | null
}

/** Returns the functions that create the result of a check of a subject. With `unknown`, the check cannot be decided here. */
export function checking(name: string, subject: string | null = null) {
  const found =
    (result: Check['result']) =>
    (text: string, advice: string | null = null): Check => ({ name, subject, result, found: text, advice })
  return { ok: found('ok'), warning: found('warning'), failed: found('failed'), unknown: found('unknown') }
}

/** `3 callbacks`, `1 callback`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

/** Returns a duration in whole days, hours, minutes or seconds. */
export function inWords(ms: number): string {
  const units = Object.entries({ day: 86_400_000, hour: 3_600_000, minute: 60_000, second: 1_000 })
  const [unit, size] = units.find(([, each]) => Math.abs(ms) >= each) ?? ['second', 1_000]
  return counted(Math.trunc(Math.abs(ms) / size), unit)
}
