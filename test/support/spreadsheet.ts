/** A small model of how Excel, LibreOffice and Google Sheets open a CSV file by a double click. */

type Cell =
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'number' | 'date' | 'logical' | 'formula'; readonly raw: string }

/** Returns the raw cells of each line. Quotes protect only a cell that starts with one. */
export function rawCells(file: string, separator: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  for (let at = file.startsWith('\ufeff') ? 1 : 0; at < file.length; ) {
    let raw = ''
    let isProtected = file[at] === '"'
    if (isProtected) at += 1
    for (; at < file.length; at++) {
      if (isProtected && file[at] === '"' && file[at + 1] === '"') at += 1
      else if (isProtected && file[at] === '"') {
        isProtected = false
        continue
      } else if (!isProtected && (file[at] === separator || file[at] === '\n' || file[at] === '\r')) break
      raw += file[at]
    }
    row.push(raw)
    if (file[at] !== separator || at === file.length) {
      rows.push(row)
      row = []
      if (file[at] === '\r' && file[at + 1] === '\n') at += 1
    }
    at += 1
  }
  return rows
}

const operator = /^[\s"]*[=+\-@\u2212\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20\t\r]/
const literal = '"(?:[^"]|"")*"'
const texts = new RegExp(`^=${literal}(?:&${literal})*$`)
const logical = /^(true|false|doğru|yanliş|yanlış|wahr|falsch|vrai|faux)$/
const months =
  'jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|oca|şub|nis|haz|tem|ağu|eyl|eki|kas|ara|mär|mai|okt|dez|ocak|märz'

/** Reads a raw cell as generously as any of them in English, Turkish or German. */
export function cellOf(raw: string): Cell {
  const text = raw.normalize('NFKC').trim().toLowerCase().replaceAll('i̇', 'i')
  if (texts.test(raw) && raw.length <= 8192) return literalsOf(raw)
  const number = text.replace(/^\((.*)\)$/, '$1').replace(/[\s€$₺£¥%']|tl$|try$|eur$/g, '')
  if (/^[+-]?(\d[\d.,]*|[.,]\d+)(e[+-]?\d+)?$/.test(number)) return { is: 'number', raw }
  if (operator.test(raw)) return { is: 'formula', raw }
  if (logical.test(text)) return { is: 'logical', raw }
  const isDate =
    /^\d{1,4}( \d+)?[-/.]\d{1,2}([-/.]\d{1,4})?([ t]\d.*)?$/.test(text) ||
    /^\d{1,2}(:\d{1,2}){1,2}([.,]\d+)?( ?[ap]m?)?$/.test(text) ||
    /^\d{1,2} ?[ap]m?$/.test(text) ||
    new RegExp(`^(${months})\\p{L}*[ .,/-]*\\d|^\\d+[ .,/-]*(${months})`, 'u').test(text)
  return isDate ? { is: 'date', raw } : { is: 'text', text: raw }
}

/** Excel rejects a formula with a longer literal. */
function literalsOf(raw: string): Cell {
  const all = [...raw.matchAll(new RegExp(literal, 'g'))].map(([each]) => each.slice(1, -1))
  if (all.some((each) => each.length > 255)) return { is: 'formula', raw }
  return { is: 'text', text: all.map((each) => each.replaceAll('""', '"')).join('') }
}
