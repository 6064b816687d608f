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

/** The subject of a check, from which its result is created. */
export class CheckSubject {
  constructor(
    private readonly name: string,
    private readonly subject: string | null = null,
  ) {}

  ok(found: string): Check {
    return { name: this.name, subject: this.subject, result: 'ok', found, advice: null }
  }

  warning(found: string, advice: string): Check {
    return { name: this.name, subject: this.subject, result: 'warning', found, advice }
  }

  failed(found: string, advice: string): Check {
    return { name: this.name, subject: this.subject, result: 'failed', found, advice }
  }

  /** The check cannot be decided here. */
  unknown(found: string, advice: string | null = null): Check {
    return { name: this.name, subject: this.subject, result: 'unknown', found, advice }
  }
}

/** `3 callbacks`, `1 callback`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

/** Returns a duration in whole days, hours, minutes or seconds. */
export function inWords(ms: number): string {
  const units = [
    [86_400_000, 'day'],
    [3_600_000, 'hour'],
    [60_000, 'minute'],
  ] as const
  const [size, unit] = units.find(([each]) => Math.abs(ms) >= each) ?? [1_000, 'second']
  return counted(Math.trunc(Math.abs(ms) / size), unit)
}
