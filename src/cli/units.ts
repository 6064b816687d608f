import { formatTwoDecimals, toJsonNumber } from '../domain/money.js'
import { refusalText } from '../domain/refusal-texts.js'
import type { Violation } from '../domain/rules.js'

type Named<Name> = Name extends `${infer Amount}Minor` ? Amount : Name
/** A document whose amounts have the names and values of {@link inUnits}. */
export type InUnits<Value> = Value extends string | number | boolean | null | undefined
  ? Value
  : Value extends readonly (infer Item)[]
    ? readonly InUnits<Item>[]
    : {
        readonly [Name in keyof Value as Named<Name>]: Name extends 'refusal'
          ? ShownRefusal | null
          : InUnits<Value[Name]>
      }
type ShownRefusal = { readonly rule: string; readonly message: string }

/**
 * Returns a document with its amounts in units of the currency: `amountMinor` 9550 becomes `amount` 95.5. Sums, which are decimal digits, become
 * texts such as `95.50`. A refusal gets its text.
 */
export function inUnits<Value>(value: Value): InUnits<Value> {
  return converted(value) as InUnits<Value>
}

function converted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(converted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, each]) => {
    if (name === 'refusal') return [name, shownRefusal(each as Violation | null)]
    if (!name.endsWith('Minor')) return [name, converted(each)]
    const amount = typeof each === 'string' ? formatTwoDecimals(BigInt(each)) : toJsonNumber(BigInt(each as number))
    return [name.slice(0, -'Minor'.length), amount]
  })
  return Object.fromEntries(entries)
}

const shownRefusal = (refusal: Violation | null): ShownRefusal | null =>
  refusal && { rule: refusal.rule, message: refusalText(refusal) }
