import { fromBase64 } from '../src/canonical-base64.js'
import { openCheckpoint } from '../src/checkpoint.js'
import { emptyRoot } from '../src/merkle-hash.js'
import { generateSigner, type NoteVerifier, parseSigner } from '../src/note-keys.js'
import { cosign, parseNote } from '../src/signed-note.js'
import { type TreeHead, verifyConsistency } from '../src/verify-proofs.js'

interface Answer {
  readonly status: number
  readonly body: string
}

/** A witness of one log that implements `add-checkpoint` of C2SP tlog-witness. */
export class TestWitness {
  readonly #signer = parseSigner(generateSigner('witness.example/w1', 'cosignature'))
  readonly #log: NoteVerifier
  #seen: TreeHead = { size: 0, root: emptyRoot() }

  constructor(log: NoteVerifier) {
    this.#log = log
  }

  get key(): NoteVerifier {
    return this.#signer
  }

  get seen(): TreeHead {
    return this.#seen
  }

  addCheckpoint(body: string, timeS: number): Answer {
    const end = body.indexOf('\n\n')
    const [oldLine = '', ...proofLines] = body.slice(0, end).split('\n')
    const oldSize = /^old (0|[1-9]\d*)$/.exec(oldLine)?.[1]
    const proof = proofLines.map(fromBase64)
    if (end < 0 || oldSize === undefined || proof.includes(undefined) || proof.length > 63)
      return { status: 400, body: '' }
    const note = body.slice(end + 2)
    let checkpoint: TreeHead
    try {
      checkpoint = openCheckpoint(note, this.#log)
    } catch {
      return { status: 403, body: '' }
    }
    if (Number(oldSize) > checkpoint.size) return { status: 400, body: '' }
    if (Number(oldSize) !== this.#seen.size) return { status: 409, body: `${this.#seen.size}\n` }
    const hashes = proof.flatMap((hash) => hash ?? [])
    if (!verifyConsistency(this.#seen, checkpoint, hashes)) return { status: 422, body: '' }
    this.#seen = checkpoint
    return { status: 200, body: `${cosign(parseNote(note).text, this.#signer, timeS)}\n` }
  }
}
