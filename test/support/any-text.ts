import fc, { type StringConstraints } from 'fast-check'

// fast-check's own unit of all code points ('binary') builds a table of all of them, which takes a second per file.
const codePoint = fc.oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff })).map(
  (code) => String.fromCodePoint(code),
  (character) => (character as string).codePointAt(0)!,
)

/** Returns an arbitrary of texts of any code points. */
export function anyText(constraints: Omit<StringConstraints, 'unit'> = {}) {
  return fc.string({ ...constraints, unit: codePoint })
}
