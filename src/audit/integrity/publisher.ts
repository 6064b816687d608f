import { type NoteSigner, openCheckpoint, type TileStore, VerificationError } from '@transferd/transparency-log'
import type { Logger } from 'pino'
import type { Finding } from '../../domain/integrity/integrity.js'
import { Findings } from './findings.js'
import { type CopyTarget, copiedCheckpoint, copyTree, cosigned, PublishError, type Witness } from './publish.js'
import { checkpointPath } from './sealer.js'
import { compareKept } from './verify.js'

export interface PublisherOptions {
  readonly tiles: TileStore
  readonly logger: Logger
  readonly witnesses: readonly Witness[]
  readonly copyTo: CopyTarget | undefined
  readonly publishFailed: (what: 'copy' | 'witness') => void
}

interface Sealed {
  readonly note: string
  readonly size: number
}

/** Takes each new checkpoint to the witnesses and to the copy. Whatever fails is told, tried again with the next, and stops nothing. */
export class Publisher {
  readonly #options: PublisherOptions & { readonly signer: NoteSigner }
  readonly #troubles = new Map<string, string>()
  /** Sizes that the witnesses have seen, by their keys. */
  readonly #seen = new Map<string, number>()
  #published = -1

  constructor(options: PublisherOptions & { readonly signer: NoteSigner }) {
    this.#options = options
  }

  /** The checkpoint, cosigned by whichever witness answered, and what does not verify of the copy. */
  async publish(sealed: Sealed): Promise<{ readonly note: string; readonly findings: readonly Finding[] }> {
    const { witnesses, copyTo } = this.#options
    if (sealed.size === this.#published || (witnesses.length === 0 && !copyTo)) return { ...sealed, findings: [] }
    let note = sealed.note
    for (const witness of witnesses) note = await this.#cosign({ ...sealed, note }, witness)
    const findings = copyTo ? await this.#copy({ ...sealed, note }, copyTo) : []
    if (this.#troubles.size === 0) this.#published = sealed.size
    return { note, findings }
  }

  /** Sentences. */
  troubles(): readonly string[] {
    return [...this.#troubles.values()]
  }

  /** The names of those who have cosigned. */
  witnesses(note: string | null): readonly string[] {
    if (note === null) return []
    const keys = this.#options.witnesses.map(({ key }) => key)
    return openCheckpoint(note, this.#options.signer, keys).cosignatures.map(({ name }) => name)
  }

  /** The checkpoint of the copy, where it can be asked for. */
  async copied(): Promise<string | undefined> {
    const { copyTo } = this.#options
    return copyTo && this.#tried('copy', 'The copy is behind', () => copiedCheckpoint(copyTo))
  }

  async #cosign({ note, size }: Sealed, witness: Witness): Promise<string> {
    const { tiles } = this.#options
    const { keyId, name } = witness.key
    const answer = await this.#tried('witness', `${name} has not cosigned`, () =>
      cosigned(tiles, { note, size }, witness, this.#seen.get(keyId) ?? 0),
    )
    if (answer === undefined) return note
    this.#seen.set(keyId, size)
    await tiles.write(checkpointPath, Buffer.from(answer))
    return answer
  }

  async #copy({ note, size }: Sealed, target: CopyTarget): Promise<readonly Finding[]> {
    const { tiles, signer } = this.#options
    const findings = new Findings()
    await this.#tried('copy', 'The copy is behind', async () => {
      const copied = await copiedCheckpoint(target)
      const older = copied === undefined ? undefined : openCheckpoint(copied, signer)
      if (copied !== undefined) {
        const kept = [{ name: 'the copy', note: copied }]
        await compareKept({ tiles, verifier: signer, kept }, openCheckpoint(note, signer), findings)
      }
      if (findings.count === 0) await copyTree(tiles, { note, size }, target, older?.size ?? 0)
    })
    return findings.list
  }

  async #tried<Result>(
    what: 'copy' | 'witness',
    trouble: string,
    action: () => Promise<Result>,
  ): Promise<Result | undefined> {
    try {
      const result = await action()
      this.#troubles.delete(trouble)
      return result
    } catch (error) {
      if (!(error instanceof PublishError || error instanceof VerificationError)) throw error
      this.#troubles.set(trouble, `${trouble}: ${error.message}.`)
      this.#options.logger.warn({ err: error }, 'the checkpoint is not published')
      this.#options.publishFailed(what)
      return undefined
    }
  }
}
