import type { BankPayment } from '../domain/bank/bank-records.js'
import { hundredths, referenceOrNull, textOrNull, unstatedPayment, withoutSpaces } from './values.js'

/** The content of the field `:86:` of an entry. */
interface MtDetails {
  /** The German code of the kind of the booking (GVC). */
  readonly kind: string | null
  readonly text: string | null
  /** The customer's reference of a file, which German banks state only for a batch. */
  readonly fileId: string | null
  readonly paymentCount: number | null
  readonly isBatch: boolean
  readonly charges: Money | null
  readonly payment: BankPayment
}

/** The code words of SEPA payments in Germany, at the start of a subfield (DFÜ-Abkommen, appendix 3). */
const sepaWords = /(?:^|(?<=\s))(EREF|KREF|MREF|CRED|DEBT|SVWZ|IBAN|BIC|ABWA|ABWE|RREF|OAMT|COAM|PURP)\+/
/** The code words between slashes of Dutch banks. */
const slashWords =
  /\/(TRTP|TRCD|EREF|PREF|KREF|MARF|CSID|CNTP|REMI|PURP|ULTC|ULTB|ULTD|RTRN|BENM|ORDP|NAME|ID|ADDR|IBAN|BIC|ISDT|OCMT|CHGS\d?|EXCH|NRTX|SVCL)\//

/** The look-behind tries each run of slashes once, so that a damaged line cannot take minutes. */
const slashesAtEnd = /(?<!\/)\/+$/

/** The codes of returns: direct debits that come back, credit transfers that come back, and direct debits that are credited again. */
const returnKinds = new Set(['108', '109', '159', '181', '184'])
/** The codes of batches: credit transfers, direct debits, and their returns. */
const isBatchKind = (kind: string) => /^(18[89]|19\d)$/.test(kind)

type Money = NonNullable<BankPayment['instructed']>

/** Reads the lines of `:86:` and the supplementary details of `:61:`, in which German banks state the original amount and charges. */
export function mtDetails(lines: readonly string[], supplementary: string | null): MtDetails {
  const joined = lines.join('')
  const [, kind, separator] = /^(\d{3})([?<>~^|])\d\d/.exec(joined) ?? []
  if (kind !== undefined && separator !== undefined) return subfields(kind, joined.slice(3), separator, supplementary)
  const words = new RegExp(`^${slashWords.source}`).test(joined)
    ? wordsOf([joined], slashWords)
    : wordsOf(lines, sepaWords)
  return detailsOf(words, { kind: null, text: null, supplementary })
}

/** Reads the subfields of German banks, such as `?20`, which end at the next separator and two digits. */
function subfields(kind: string, text: string, separator: string, supplementary: string | null): MtDetails {
  const values = new Map<number, string>()
  for (const part of text.split(new RegExp(`\\${separator}(?=\\d\\d)`)).slice(1)) {
    values.set(Number(part.slice(0, 2)), part.slice(2))
  }
  const of = (...codes: number[]) => codes.flatMap((code) => values.get(code) ?? [])
  const words = wordsOf(of(20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 60, 61, 62, 63), sepaWords)
  words.set('NAME', [of(32, 33).join('')])
  // An IBAN among the words is newer than the account number of the subfield.
  if (!words.has('IBAN')) words.set('IBAN', of(31))
  const posting = textOrNull(of(0).join(''))
  return detailsOf(words, { kind, text: posting, supplementary })
}

type Words = Map<string, readonly string[]>

/** Returns the values of the code words, each with its lines. The key of text without a word is empty. */
function wordsOf(lines: readonly string[], pattern: RegExp): Words {
  const words = new Map<string, string[]>()
  let word = ''
  for (const line of lines) {
    // Splitting by a pattern with a group returns the words between the values.
    for (const [index, part] of line.split(pattern).entries()) {
      if (index % 2 === 1) word = part
      if (part === '' && index % 2 === 0) continue
      const values = words.get(word) ?? []
      if (index % 2 === 0) values.push(part)
      words.set(word, values)
    }
  }
  return words
}

interface Posting {
  readonly kind: string | null
  readonly text: string | null
  readonly supplementary: string | null
}

function detailsOf(words: Words, { kind, text, supplementary }: Posting): MtDetails {
  for (const [word, values] of wordsOf([supplementary ?? ''], slashWords)) if (word !== '') words.set(word, values)
  /** A value that the bank split over lines is one value. */
  const of = (...names: string[]) => {
    for (const name of names) {
      const value = textOrNull(words.get(name)?.join('').replace(slashesAtEnd, ''))
      if (value !== null) return value
    }
    return null
  }
  const [partyAccount, , partyName] = of('CNTP')?.split('/') ?? []
  const { remittance, creditorReference } = remittanceOf(words)
  const endToEndId = referenceOrNull(of('EREF'))
  const name = of('NAME') ?? textOrNull(partyName) ?? of('ABWA', 'ABWE')
  const account = withoutSpaces(of('IBAN') ?? textOrNull(partyAccount))
  const fileId = endToEndId === null ? referenceOrNull(of('KREF', 'PREF')) : null
  const count = of('NRTX')
  const isReturn = words.has('RTRN') || (kind !== null && returnKinds.has(kind))
  return {
    ...{ kind, text: text ?? supplementary, fileId, charges: moneyOf(of('CHGS', 'CHGS1')) },
    paymentCount: count !== null && /^\d{1,9}$/.test(count) ? Number(count) : null,
    isBatch: (kind !== null && isBatchKind(kind)) || (fileId !== null && name === null && account === null),
    payment: {
      ...{ ...unstatedPayment, endToEndId, bankReference: of('RREF'), name, account, remittance, creditorReference },
      instructed: moneyOf(of('OCMT', 'OAMT')),
      returned: isReturn ? returnOf(of('RTRN'), remittance) : null,
    },
  }
}

/** Returns the remittance information: the lines after SVWZ or REMI, or all of them if the bank uses no code words. */
function remittanceOf(words: Words) {
  const lines = words.get('SVWZ') ?? words.get('REMI') ?? words.get('') ?? []
  const [, structured] = /^STRD\/(?:[A-Z]{3})?\/([^/]+)/.exec(lines.join('')) ?? []
  const texts = lines.map((line) =>
    line
      .replace(/^USTD\/\//, '')
      .replace(slashesAtEnd, '')
      .trim(),
  )
  return {
    remittance: structured === undefined ? texts.filter((line) => line !== '') : [],
    creditorReference: structured ?? null,
  }
}

const reasonCode =
  /(?:^|[\s/:])(AC\d\d|AG\d\d|AM\d\d|BE\d\d|CNOR|DNOR|ED05|FF05|FOCR|MD\d\d|MS\d\d|NARR|RC\d\d|RR\d\d|SL\d\d|TM01)(?=$|[\s/:,.])/

function returnOf(stated: string | null, remittance: readonly string[]) {
  const text = [stated, ...remittance].filter((part) => part !== null).join(' ')
  // A bank can split the lines within the code.
  const [, code = null] = reasonCode.exec(text) ?? reasonCode.exec(remittance.join('')) ?? []
  return { reasonCode: code, reasonText: text || null, originalEndToEndId: null }
}

/** Returns an amount such as `EUR12,34`, or null. */
function moneyOf(text: string | null): Money | null {
  const [, currency, whole, fraction = ''] = /^([A-Z]{3})(\d{1,16})(?:,(\d{0,20}))?$/.exec(text ?? '') ?? []
  if (currency === undefined || whole === undefined) return null
  const amountMinor = hundredths(whole, fraction)
  return amountMinor === undefined ? null : { amountMinor, currency }
}
