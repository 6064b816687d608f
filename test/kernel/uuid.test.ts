import fc from 'fast-check'
import t from 'tap'
import { storedUuid, storedUuidPrefix } from '../../src/kernel/uuid.js'

const separators = [
  '',
  ' ',
  '-',
  '\u2010',
  '\u2011',
  '–',
  '—',
  '\u2212',
  '－',
  '\u00ad',
  '\u200b',
  '\u00a0',
  '\r\n',
  '\ufeff',
]

t.test('a UUID is accepted in either case, with and without every kind of dash, space and invisible mark', async () => {
  const between = fc.array(fc.constantFrom(...separators), { minLength: 33, maxLength: 33 })
  const form = fc.constantFrom(
    (text: string) => text,
    (text: string) => text.toUpperCase(),
    (text: string) => text.replaceAll(/[\da-f]/g, (each) => String.fromCodePoint(each.codePointAt(0)! + 0xfee0)),
  )
  fc.assert(
    fc.property(fc.uuid(), between, form, (id, between, form) => {
      const digits = Array.from(form(id.replaceAll('-', '')))
      const given = between.map((separator, n) => separator + (digits[n] ?? '')).join('')
      return (
        storedUuid(given) === id && storedUuid(id) === id && id.startsWith(storedUuidPrefix(given.slice(0, 20)) ?? '')
      )
    }),
  )
})

t.test('another text is unchanged', async (t) => {
  const id = 'f7dc68d3-01fb-5d0a-8403-2df74377407d'
  for (const text of ['', ' ', 'INV 2026-0042', id.slice(1), `${id}0`, `${id}.`, id.replace('f', 'ʄ')])
    t.equal(storedUuid(text), text)
})
