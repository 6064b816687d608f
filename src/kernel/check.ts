/** The result of one check of the installation. */
export interface Check {
  /** A stable name: `disk`, `clock`, `master-key` … */
  readonly name: string
  /** The checked item if the check covers several, such as a directory or a projection. */
  readonly subject: string | null
  readonly result: 'ok' | 'warning' | 'failed' | 'unknown'
  readonly found: string
  readonly advice: string | null
}
