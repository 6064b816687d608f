import type { CsvMapping } from '../domain/bank/bank-records.js'
import { isDate } from '../kernel/time.js'
import { hundredths } from './values.js'

/** Returns the hundredths with their sign, or `undefined` if the text is not an amount. Groups of three digits can be separated. */
export function signedAmount(text: string, decimalMark: CsvMapping['decimalMark']): bigint | undefined {
  const group = decimalMark === '.' ? ",'’" : ".'’"
  const number = new RegExp(
    `^([+−-]?)(\\d{1,16}|\\d{1,3}(?:([${group}\\s])\\d{3})(?:\\3\\d{3}){0,4})(?:\\${decimalMark}(\\d{1,20}))?(-?)$`,
  )
  const [, before, whole, , fraction = '', after] = number.exec(text) ?? []
  if (whole === undefined || (before && after)) return undefined
  const minor = hundredths(whole.replaceAll(/\D/g, ''), fraction)
  return minor !== undefined && (before === '-' || before === '−' || after === '-') ? -minor : minor
}

/** Returns the day such as `2026-03-02`, or `undefined` if the text has a different form. A time can follow the date. */
export function dayIn(text: string, dateFormat: string): string | undefined {
  const escaped = dateFormat.replaceAll(/[^A-Za-z]/g, String.raw`\$&`)
  const pattern = escaped
    .replace('YYYY', String.raw`(?<year>\d{4})`)
    .replace('YY', String.raw`(?<short>\d\d)`)
    .replace('MM', String.raw`(?<month>\d{1,2})`)
    .replace('DD', String.raw`(?<day>\d{1,2})`)
  const { year, short, month = '', day = '' } = new RegExp(`^${pattern}(?:[ T]\\d{1,2}:.*)?$`).exec(text)?.groups ?? {}
  const date = `${year ?? `20${short}`}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
  return isDate(date) ? date : undefined
}
