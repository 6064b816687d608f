import type { Hash } from './hashing.js'
import { formatNote, type Note, parseNote, verifiedSignatures } from './note.js'
import type { NoteVerifier } from './note-keys.js'
import { Unverified } from './unverified.js'

/** Where a witness takes checkpoints, below its URL (C2SP tlog-witness). */
export const addCheckpointPath = '/add-checkpoint'

/** The body of the request: the size that the witness has seen last, the proof that nothing in it was changed, and the checkpoint. */
export function addCheckpointRequest(oldSize: number, consistencyProof: readonly Hash[], checkpoint: string): string {
  const proof = consistencyProof.map((hash) => `${hash.toString('base64')}\n`).join('')
  return `old ${oldSize}\n${proof}\n${checkpoint}`
}

/** The body of a witness's 409: the size that it has seen last. @throws Unverified */
export function seenSize(answer: string): number {
  const size = Number(answer)
  if (!/^(0|[1-9]\d*)\n$/.test(answer) || !Number.isSafeInteger(size)) {
    throw new Unverified('the witness did not say which size it has seen')
  }
  return size
}

/** The checkpoint with the witness's cosignature, in place of an older one of the same key. @throws Unverified */
export function withCosignature(checkpoint: string, answer: string, witness: NoteVerifier): string {
  const note = parseNote(checkpoint)
  const answered: Note = parseNote(`${note.text}\n${answer}`)
  const [cosignature] = verifiedSignatures(answered, [witness])
  if (cosignature === undefined)
    throw new Unverified(`the answer has no cosignature of ${witness.name}+${witness.keyId}`)
  const others = note.signatures.filter(({ name, keyId }) => name !== witness.name || keyId !== witness.keyId)
  const added = answered.signatures.filter(({ line }) => line === cosignature.line).slice(0, 1)
  return formatNote({ text: note.text, signatures: [...others, ...added] })
}
