import { plainAccountNumber } from '../../kernel/account-number.js'
import { isStoredUuid, storedUuid } from '../../kernel/uuid.js'
import type { TransferKind } from '../transfer/transfer-events.js'
import { comparableText, type MatchedFacts, referenceForms } from './matching.js'

/** The fields by which a transfer is found in the payments of a bank. */
export interface CandidateFields {
  readonly trackingId: string
  readonly kind: TransferKind
  readonly referenceId: string
  readonly amountMinor: bigint
  /** Null for a deposit. */
  readonly accountNumber: string | null
  /** The ids of the bank files that contain it. */
  readonly bankFiles: readonly string[]
}

/** The number of transfers that are compared with a payment, apart from those of its bank file. */
const maxCandidates = 20

/** Finds the transfers that a payment can belong to without comparing it with each of them. */
export class CandidateIndex {
  readonly #byReference = new Map<string, string[]>()
  readonly #byAccount = new Map<string, string[]>()
  readonly #byFile = new Map<string, string[]>()
  readonly #lengths = new Set<number>()

  constructor(candidates: Iterable<CandidateFields>) {
    for (const { trackingId, kind, referenceId, amountMinor, accountNumber, bankFiles } of candidates) {
      for (const form of referenceForms(referenceId)) {
        this.#lengths.add(form.length)
        add(this.#byReference, `${kind} ${form}`, trackingId)
      }
      if (accountNumber !== null) add(this.#byAccount, accountKey(accountNumber, amountMinor), trackingId)
      for (const file of bankFiles) add(this.#byFile, plainId(file), trackingId)
    }
  }

  /** Returns the trackingIds of a payment's bank file. */
  ofFile({ fileId }: Pick<MatchedFacts, 'fileId'>): readonly string[] {
    return fileId === null ? [] : (this.#byFile.get(plainId(fileId)) ?? [])
  }

  /** Returns trackingIds, each once. Those that the payment names directly need not exist. */
  idsFor(facts: MatchedFacts): readonly string[] {
    const { matched, endToEndIds, lines, account, amountMinor } = facts
    const ids = new Set(endToEndIds.map(storedUuid).filter(isStoredUuid))
    const text = comparableText(lines)
    const kind = matched === 'credit' ? 'deposit' : 'withdrawal'
    for (const found of text.plain.matchAll(/(?=([0-9A-F]{32}))/g)) ids.add(storedUuid(found[1]!))
    for (let at = 0; at < text.plain.length; at++) {
      if (text.isWithinWord[at]) continue
      for (const length of this.#lengths) {
        for (const id of this.#byReference.get(`${kind} ${text.plain.slice(at, at + length)}`) ?? []) {
          if (ids.size < maxCandidates) ids.add(id)
        }
      }
    }
    const ofAccount = account === null ? [] : (this.#byAccount.get(accountKey(account, amountMinor)) ?? [])
    for (const id of ofAccount.slice(0, maxCandidates)) ids.add(id)
    return [...ids]
  }
}

function add(map: Map<string, string[]>, key: string, id: string): void {
  const found = map.get(key)
  if (found) found.push(id)
  else map.set(key, [id])
}

const plainId = (id: string) => id.replaceAll('-', '').toUpperCase()
const accountKey = (account: string, amountMinor: bigint) => `${plainAccountNumber(account)} ${amountMinor}`
