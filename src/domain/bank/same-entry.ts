import type { BankEntries, FormatFamily, KnownEntry, RecordedPayment } from './bank-entries.js'

// Which entries of a file are recorded already. The same day arrives again in another file, format or granularity.

/** An entry of a file, with the digests by which it is compared. All compared entries have the same account, day, direction and amount. */
interface ComparedEntry {
  readonly family: FormatFamily
  readonly currency: string
  readonly isReversal: boolean
  readonly bankReference: string | null
  readonly payments: readonly Compared[]
}

export interface Compared {
  readonly endToEndMac: string | null
  readonly accountMac: string | null
  readonly textMac: string | null
}

/**
 * Returns the recorded entry that each entry of a file is, or `undefined` for a new one. Equal references of the bank decide. Different ones mean
 * different entries within a family of formats only. Otherwise two entries are the same if nothing that both state differs: first those with
 * the strongest evidence, then the rest in their order. So a file with more entries than are recorded always adds the difference.
 */
export function recordedEntries(
  entries: readonly ComparedEntry[],
  known: BankEntries,
  taken: ReadonlySet<string>,
): readonly (KnownEntry | undefined)[] {
  const free = new Set(known.filter(({ entryId }) => !taken.has(entryId)))
  const found: (KnownEntry | undefined)[] = entries.map(() => undefined)
  for (const least of [evidence.reference, evidence.id, evidence.text, evidence.account, evidence.none]) {
    entries.forEach((entry, n) => {
      if (found[n]) return
      for (const each of free) {
        if (evidenceFor(entry, each) < least) continue
        found[n] = each
        free.delete(each)
        return
      }
    })
  }
  return found
}

/** Every payment of an entry states the entry. */
const entryOf = ({ payments }: KnownEntry): RecordedPayment => payments[0]!.payment

/** How surely two entries are the same. `none`: nothing that both state differs, or they state nothing in common. */
const evidence = { different: 0, none: 1, account: 2, text: 3, id: 4, reference: 5 } as const

function evidenceFor(compared: ComparedEntry, recorded: KnownEntry): number {
  const { currency, isReversal, family, entryReference } = entryOf(recorded)
  if (compared.currency !== currency || compared.isReversal !== isReversal) return evidence.different
  const isOneFamily = compared.family === family
  if (isOneFamily && compared.bankReference !== null && entryReference !== null)
    return compared.bankReference === entryReference ? evidence.reference : evidence.different
  const known = recorded.payments.filter(({ isSuperseded }) => !isSuperseded)
  // A different number of payments is a different granularity, in which nothing can be compared.
  if (known.length !== compared.payments.length) return evidence.none
  const found = compared.payments.map((stated, n) => paymentEvidence(stated, known[n]!.payment, isOneFamily))
  return Math.min(...found)
}

function paymentEvidence(a: Compared, b: Compared, isOneFamily: boolean): number {
  const differ = (x: string | null, y: string | null) => x !== null && y !== null && x !== y
  const agree = (x: string | null, y: string | null) => x !== null && x === y
  // Some formats have no field for the id, and state it in the text.
  if (agree(a.endToEndMac, b.endToEndMac) || agree(a.endToEndMac, b.textMac) || agree(a.textMac, b.endToEndMac))
    return differ(a.accountMac, b.accountMac) ? evidence.different : evidence.id
  if (differ(a.endToEndMac, b.endToEndMac) || differ(a.accountMac, b.accountMac)) return evidence.different
  if (agree(a.textMac, b.textMac)) return evidence.text
  // Families of formats shorten texts differently.
  if (isOneFamily && differ(a.textMac, b.textMac)) return evidence.different
  return agree(a.accountMac, b.accountMac) ? evidence.account : evidence.none
}
