import fc from 'fast-check'
import t from 'tap'
import { bankCsv, peopleCsv, peopleCsvHead } from '../../src/kernel/csv.js'
import { anyText } from '../support/any-text.js'

const operators = '=+-@＝＋－＠﹦﹢﹣﹫−'
const startsFormula = new RegExp(`^\\s*[${operators.replace('-', '\\-')}]`)

t.test('a file for spreadsheets quotes every cell and starts with a byte order mark', async (t) => {
  t.equal(peopleCsvHead(['day', 'a"b']), '\ufeff"day","a""b"\r\n')
  t.equal(peopleCsv([['a', 1, '', '-12.50'], ['b']]), '"a","1","","-12.50"\r\n"b"\r\n')
})

t.test('puts an apostrophe before every place at which a spreadsheet starts to calculate', async (t) => {
  for (const operator of [...operators, '\t', '\r'])
    t.equal(peopleCsv([[`${operator}1+1`]]).slice(0, 3), `"'${operator}`)
  for (const [text, safe] of [
    ['a;=1+1', `a;'=1+1`],
    ['a; ＝cmd', `a;' ＝cmd`],
    ['a\n=1', `a\n'=1`],
    ['a-b=c; d', 'a-b=c; d'],
    ['-1', `'-1`],
    ['1', '1'],
  ] as const)
    t.equal(peopleCsv([[text]]), `"${safe}"\r\n`)
})

/** Splits a file as a spreadsheet whose list separator is not a comma does: quotes protect only a cell that starts with one. */
function cellsAsReadWith(separator: string, file: string): string[] {
  const cells: string[] = []
  for (let at = 0; at < file.length; ) {
    let cell = ''
    let protectedFrom = file[at] === '"'
    if (protectedFrom) at += 1
    for (; at < file.length; at++) {
      if (protectedFrom && file[at] === '"' && file[at + 1] === '"') at += 1
      else if (protectedFrom && file[at] === '"') {
        protectedFrom = false
        continue
      } else if (!protectedFrom && (file[at] === separator || file[at] === '\n' || file[at] === '\r')) break
      cell += file[at]
    }
    cells.push(cell)
    at += 1
  }
  return cells
}

t.test('no text becomes a formula, whichever separator the spreadsheet uses', async () => {
  const unit = fc.constantFrom(...operators, ...'a1;,"\' \n', '　', 'ş')
  const text = fc.oneof(fc.constantFrom('-1', '-1.5', ''), fc.string({ unit, maxLength: 12 }), anyText())
  const rows = fc.array(fc.array(text, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 })
  fc.assert(
    fc.property(rows, (rows) => {
      const file = peopleCsv(rows)
      for (const separator of [',', ';', '\t'])
        for (const cell of cellsAsReadWith(separator, file))
          if (startsFormula.test(cell) && !/^-?\d+(\.\d+)?$/.test(cell))
            throw new Error(`${JSON.stringify(cell)} is a formula with the separator ${JSON.stringify(separator)}`)
    }),
    { numRuns: 2000, examples: [[[['-1', '']]], [[['-1', ''], ['']]], [[['a', '-1', 'b;'], ['-1']]]] },
  )
})

t.test('a file for banks contains every text unchanged', async (t) => {
  t.equal(bankCsv([['=1+1', '+90 555', '0012', 'a,b']]), '=1+1,+90 555,0012,"a,b"\r\n')
})
