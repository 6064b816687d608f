import type { TYPE } from '@formatjs/icu-messageformat-parser'
import type { MessageFormatElement } from 'react-intl'

/**
 * A part of a parsed message in the built texts: a text, 0 for the number of a plural, an argument with, for a plural or a selection, its type
 * and options, or any other element. Most of a message's size would otherwise be the names of its fields.
 */
export type PackedPart =
  | string
  | 0
  | [argument: string, type?: number, options?: { readonly [name: string]: readonly PackedPart[] }]
  | MessageFormatElement

// The enumeration is not part of the built pages.
const literal = 0 as TYPE.literal
const argument = 1 as TYPE.argument
const select = 5 as TYPE.select
const plural = 6 as TYPE.plural
const pound = 7 as TYPE.pound

/** Packs an element during the build. A plural has no offset. */
export function pack(part: MessageFormatElement): PackedPart {
  if (part.type === pound) return 0
  if (part.type === literal) return part.value
  if (part.type === argument) return [part.value]
  if (part.type !== plural && part.type !== select) return part
  const options = Object.entries(part.options).map(([name, { value }]) => [name, value.map(pack)] as const)
  return [part.value, part.type, Object.fromEntries(options)]
}

export function unpack(part: PackedPart): MessageFormatElement {
  if (part === 0) return { type: pound }
  if (typeof part === 'string') return { type: literal, value: part }
  if (!Array.isArray(part)) return part
  const [value, type = argument, options = {}] = part
  const named = Object.entries(options).map(([name, parts]) => [name, { value: parts.map(unpack) }])
  return { type, value, options: Object.fromEntries(named) } as MessageFormatElement
}
