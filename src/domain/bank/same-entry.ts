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
 * different entries within a family of formats only. Otherwise two entries are the same if nothing that both state differs: first those that
 * have something in common, then the rest in their order. So a file with more entries than are recorded always adds the difference.
 */
export function recordedEntries(
  entries: readonly ComparedEntry[],
  known: BankEntries,
  taken: ReadonlySet<string>,
): readonly (KnownEntry | undefined)[] {
  const free = new Set(known.filter(({ entryId }) => !taken.has(entryId)))
  const found: (KnownEntry | undefined)[] = entries.map(() => undefined)
  const passes = [hasSameReference, hasSameContent, isCompatible]
  for (const isSame of passes) {
    entries.forEach((entry, n) => {
      if (found[n]) return
      for (const each of free) {
        const { currency, isReversal } = entryOf(each)
        if (currency !== entry.currency || isReversal !== entry.isReversal) continue
        if (!isSame(entry, each)) continue
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

function hasSameReference({ bankReference, family }: ComparedEntry, known: KnownEntry): boolean {
  const entry = entryOf(known)
  return bankReference !== null && bankReference === entry.entryReference && family === entry.family
}

function hasSameContent(entry: ComparedEntry, known: KnownEntry): boolean {
  return isCompatible(entry, known) && likeness(entry, known) === 'same'
}

function isCompatible(entry: ComparedEntry, known: KnownEntry): boolean {
  const { entryReference, family } = entryOf(known)
  const haveReferences = entry.bankReference !== null && entryReference !== null
  if (haveReferences && entry.family === family && entry.bankReference !== entryReference) return false
  return likeness(entry, known) !== 'different'
}

/** Compares what both state about their payments. A different number of payments is a different granularity and compares nothing. */
function likeness(compared: ComparedEntry, recorded: KnownEntry): 'same' | 'different' | 'unknown' {
  const known = recorded.payments.filter(({ isSuperseded }) => !isSuperseded)
  if (known.length !== compared.payments.length) return 'unknown'
  let result: 'same' | 'unknown' = 'unknown'
  for (const [n, stated] of compared.payments.entries()) {
    const { payment } = known[n]!
    for (const field of ['endToEndMac', 'accountMac', 'textMac'] as const) {
      const [a, b] = [stated[field], payment[field]]
      if (a === null || b === null) continue
      if (a === b) result = 'same'
      // Families of formats shorten texts differently.
      else if (field !== 'textMac' || compared.family === payment.family) return 'different'
    }
  }
  return result
}
