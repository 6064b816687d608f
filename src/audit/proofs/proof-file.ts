import { fromBase64, type Hash, hashBytes, VerificationError } from '@transferd/transparency-log'

/** Shows that a transfer's events are in the log of a checkpoint. docs/auditing/proofs.md describes every field. */
export interface TransferProof {
  readonly trackingId: string
  /** A signed note. */
  readonly checkpoint: string
  readonly events: readonly ProvenEvent[]
  /** The earlier checkpoint that the log continues, with a consistency proof. */
  readonly older?: { readonly checkpoint: string; readonly proof: readonly Hash[] }
}

export interface ProvenEvent {
  /** The index of the leaf in the tree, from 0. */
  readonly index: number
  /** The leaf itself: canonical JSON. */
  readonly leaf: string
  readonly proof: readonly Hash[]
}

const format = 'transferd-proof/1'

/** Returns the file, indented for readers and in a single possible form. */
export function formatProof({ trackingId, checkpoint, events, older }: TransferProof): string {
  const file = {
    format,
    trackingId,
    checkpoint,
    events: events.map(({ index, leaf, proof }) => ({ index, leaf, proof: proof.map(base64) })),
    ...(older && { older: { checkpoint: older.checkpoint, proof: older.proof.map(base64) } }),
  }
  return `${JSON.stringify(file, null, 2)}\n`
}

/**
 * Parses a file in exactly the form of `formatProof`. A repeated or unknown name could be read differently by different programs.
 * @throws VerificationError
 */
export function parseProof(text: string): TransferProof {
  const file = object(parsedJson(text))
  if (file.format !== format) throw malformed(`it is not a ${format}`)
  const proof: TransferProof = {
    trackingId: string(file.trackingId),
    checkpoint: string(file.checkpoint),
    events: list(file.events).map(eventOf),
    ...(file.older !== undefined && { older: olderOf(object(file.older)) }),
  }
  if (formatProof(proof) !== text) throw malformed('its bytes differ from the form that transferd writes')
  return proof
}

function eventOf(value: unknown): ProvenEvent {
  const { index, leaf, proof } = object(value)
  if (!Number.isSafeInteger(index)) throw malformed('an index is not a whole number')
  return { index: index as number, leaf: string(leaf), proof: hashes(proof) }
}

function olderOf({ checkpoint, proof }: Fields): NonNullable<TransferProof['older']> {
  return { checkpoint: string(checkpoint), proof: hashes(proof) }
}

type Fields = { readonly [name: string]: unknown }

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw malformed('it is not JSON')
  }
}

function object(value: unknown): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed('an object is missing')
  return value as Fields
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw malformed('a list is missing')
  return value
}

function string(value: unknown): string {
  if (typeof value !== 'string') throw malformed('a string is missing')
  return value
}

function hashes(value: unknown): Hash[] {
  return list(value).map((each) => {
    const hash = fromBase64(string(each))
    if (hash?.length !== hashBytes) throw malformed('a hash is not 32 bytes of Base64')
    return hash
  })
}

function base64(hash: Hash): string {
  return hash.toString('base64')
}

function malformed(problem: string): VerificationError {
  return new VerificationError(`The proof is malformed: ${problem}.`)
}
