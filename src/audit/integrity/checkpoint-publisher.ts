import { type NoteSigner, openCheckpoint, type TileStore, VerificationError } from '@transferd/transparency-log'
import type { Logger } from 'pino'
import type { Finding } from '../../domain/integrity.js'
import {
  type CopyTarget,
  copiedCheckpoint,
  copyTree,
  PublishError,
  requestCosignature,
  type SizedNote,
  type Witness,
} from './checkpoint-targets.js'
import { Findings } from './integrity-findings.js'
import { checkpointPath } from './log-sealer.js'
import { compareKept } from './log-verification.js'

export interface PublisherOptions {
  readonly tiles: TileStore
  readonly logger: Logger
  readonly witnesses: readonly Witness[]
  readonly copyTo: CopyTarget | undefined
  readonly publishFailed: (target: 'copy' | 'witness') => void
}

/** Sends each new checkpoint to the witnesses and the copy. A failure is reported, retried with the next checkpoint, and stops nothing. */
export class CheckpointPublisher {
  readonly #troubles = new Map<string, string>()
  /** The sizes that the witnesses have seen, by the ids of their keys. */
  readonly #seen = new Map<string, number>()
  #publishedSize = -1

  constructor(private readonly options: PublisherOptions & { readonly signer: NoteSigner }) {}

  /** Returns the checkpoint with the cosignatures of the witnesses that responded, and the findings about the copy. */
  async publish(sealed: SizedNote): Promise<{ readonly note: string; readonly findings: readonly Finding[] }> {
    const { witnesses, copyTo } = this.options
    if (sealed.size === this.#publishedSize || (witnesses.length === 0 && !copyTo)) return { ...sealed, findings: [] }
    let { note } = sealed
    for (const witness of witnesses) note = await this.#cosign({ ...sealed, note }, witness)
    const findings = copyTo ? await this.#copy({ ...sealed, note }, copyTo) : []
    if (this.#troubles.size === 0) this.#publishedSize = sealed.size
    return { note, findings }
  }

  /** Returns the current failures as sentences. */
  troubles(): readonly string[] {
    return [...this.#troubles.values()]
  }

  /** Returns the names of the witnesses that have cosigned. */
  witnesses(note: string | null): readonly string[] {
    if (note === null) return []
    const keys = this.options.witnesses.map(({ key }) => key)
    return openCheckpoint(note, this.options.signer, keys).cosignatures.map(({ name }) => name)
  }

  /** Returns the checkpoint of the copy if the copy can be read. */
  async copied(): Promise<string | undefined> {
    const { copyTo } = this.options
    return copyTo && this.#tryPublish('copy', 'The copy is behind', () => copiedCheckpoint(copyTo))
  }

  async #cosign({ note, size }: SizedNote, witness: Witness): Promise<string> {
    const { tiles } = this.options
    const { keyId, name } = witness.key
    const cosigned = await this.#tryPublish('witness', `${name} has not cosigned`, () =>
      requestCosignature(tiles, { note, size }, witness, this.#seen.get(keyId) ?? 0),
    )
    if (cosigned === undefined) return note
    this.#seen.set(keyId, size)
    await tiles.write(checkpointPath, Buffer.from(cosigned))
    return cosigned
  }

  async #copy({ note, size }: SizedNote, target: CopyTarget): Promise<readonly Finding[]> {
    const { tiles, signer } = this.options
    const findings = new Findings()
    await this.#tryPublish('copy', 'The copy is behind', async () => {
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

  async #tryPublish<Result>(
    target: 'copy' | 'witness',
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
      this.options.logger.warn({ err: error }, 'the checkpoint was not published')
      this.options.publishFailed(target)
      return undefined
    }
  }
}
