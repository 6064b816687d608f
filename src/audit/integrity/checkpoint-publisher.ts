import {
  addCheckpointPath,
  addCheckpointRequest,
  DirectoryTiles,
  filesSince,
  type NoteSigner,
  type NoteVerifier,
  openCheckpoint,
  seenSize,
  type TileStore,
  TreeReader,
  VerificationError,
  withCosignature,
} from '@transferd/transparency-log'
import type { Logger } from 'pino'
import type { Finding } from '../../domain/integrity.js'
import { Findings } from './log-comparison.js'
import { checkpointPath, leavesFrom, readTree, type TreeParts, treeBundles } from './log-sealer.js'
import { compareKept } from './log-verification.js'

const timeoutMs = 10_000
/** A checkpoint or a cosignature has a few hundred bytes per signature. */
const maxResponseBytes = 65_536

/** Cosigns a checkpoint that continues the last one it has seen (C2SP tlog-witness). */
export interface Witness {
  /** Without a trailing slash. */
  readonly url: string
  readonly key: NoteVerifier
}

/** The location of a second tree, which an attacker who edits this one cannot reach. */
export type CopyTarget =
  | { readonly kind: 'directory'; readonly directory: string }
  /** Receives each file by PUT. Without a trailing slash. */
  | { readonly kind: 'url'; readonly url: string; readonly authorization: string | undefined }

interface SizedNote {
  readonly note: string
  readonly size: number
}

/** A copy or a witness failed. The tree itself is not affected. */
class PublishError extends Error {
  override readonly name = 'PublishError'
}

/** Returns the checkpoint with the witness's cosignature. `seen` is the size that the witness last saw, if known. @throws PublishError */
async function requestCosignature(
  tiles: TileStore,
  { note, size }: SizedNote,
  { url, key }: Witness,
  seen: number,
): Promise<string> {
  const tree = new TreeReader(tiles, size)
  const request = async (from: number) => {
    const body = addCheckpointRequest(from, await tree.consistencyProof(from), note)
    return send(`${url}${addCheckpointPath}`, { method: 'POST', body })
  }
  try {
    let response = await request(Math.min(seen, size))
    if (response.status === 409) {
      const known = seenSize(response.text)
      if (known > size)
        throw new PublishError(`${url} has seen ${known} leaves, but the tree has ${size}: was it cut back?`)
      response = await request(known)
    }
    if (response.status !== 200) throw new PublishError(`${url} responded with ${response.status}`)
    return withCosignature(note, response.text, key)
  } catch (error) {
    if (error instanceof VerificationError) throw new PublishError(`${url}: ${error.message}`)
    throw error
  }
}

/** Returns the checkpoint of the copy, or `undefined` if it has none. @throws PublishError */
async function copiedCheckpoint(target: CopyTarget): Promise<string | undefined> {
  if (target.kind === 'directory') {
    const bytes = await inDirectory(target, (tiles) => tiles.read(checkpointPath))
    return bytes && Buffer.from(bytes).toString('utf8')
  }
  const { status, text } = await send(`${target.url}/${checkpointPath}`, { headers: headersOf(target) })
  if (status === 200) return text
  if (status === 404 || status === 403 || status === 405) return undefined
  throw new PublishError(`${target.url} responded with ${status}`)
}

/**
 * Writes the files that a copy of `from` leaves lacks, and then the checkpoint. A copy also has the events, which an attacker who edits
 * this log cannot reach. @throws PublishError, VerificationError
 */
async function copyTree(parts: TreeParts, { note, size }: SizedNote, target: CopyTarget, from: number): Promise<void> {
  const { tiles } = parts
  const bundles = readTree(tiles, size).entryBundles(from, (index) => leavesFrom(parts, index))
  for await (const { path, bytes } of bundles) await write(target, path, bytes)
  for (const path of filesSince(from, size, treeBundles.bundles)) {
    // A tile that has become full replaces its partial tiles.
    const bytes = (await tiles.read(path)) ?? (await tiles.read(path.replace(/\.p\/\d+$/, '')))
    if (bytes === undefined) throw new VerificationError(`${path} is missing`)
    await write(target, path, bytes)
  }
  await write(target, checkpointPath, Buffer.from(note))
}

async function write(target: CopyTarget, path: string, bytes: Uint8Array): Promise<void> {
  if (target.kind === 'url') {
    const { status } = await send(`${target.url}/${path}`, { method: 'PUT', body: bytes, headers: headersOf(target) })
    if (status < 200 || status > 299) throw new PublishError(`${target.url} responded with ${status}`)
    return
  }
  await inDirectory(target, (tiles) => tiles.write(path, bytes))
}

/** @throws PublishError, VerificationError */
async function inDirectory<Result>(
  { directory }: { readonly directory: string },
  access: (tiles: TileStore) => Promise<Result>,
): Promise<Result> {
  try {
    return await access(new DirectoryTiles(directory))
  } catch (error) {
    if (error instanceof VerificationError) throw error
    throw new PublishError(`${directory} cannot be used: ${(error as NodeJS.ErrnoException).code}`, { cause: error })
  }
}

function headersOf({ authorization }: { readonly authorization: string | undefined }): Record<string, string> {
  return authorization === undefined ? {} : { authorization }
}

/** @throws PublishError */
async function send(url: string, request: RequestInit): Promise<{ readonly status: number; readonly text: string }> {
  try {
    const response = await fetch(url, { ...request, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) })
    return { status: response.status, text: await boundedText(response) }
  } catch (error) {
    if (error instanceof PublishError) throw error
    const { cause, name } = error as Error
    throw new PublishError(`${new URL(url).origin} cannot be reached: ${(cause as { code?: string })?.code ?? name}`)
  }
}

/** Reads the body up to a limit, because an endless one would otherwise fill the memory until the timeout. @throws PublishError */
async function boundedText({ url, body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > maxResponseBytes)
      throw new PublishError(`${new URL(url).origin} responded with more than ${maxResponseBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

export interface PublisherOptions extends TreeParts {
  readonly logger: Logger
  readonly witnesses: readonly Witness[]
  readonly copyTo: CopyTarget | undefined
  readonly publishFailed: (target: 'copy' | 'witness') => void
}

/** Sends each new checkpoint to the witnesses and the copy. A failure is reported, retried with the next checkpoint, and stops nothing. */
export class CheckpointPublisher {
  readonly #problems = new Map<string, string>()
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
    if (this.#problems.size === 0) this.#publishedSize = sealed.size
    return { note, findings }
  }

  /** Returns the current failures as sentences. */
  problems(): readonly string[] {
    return [...this.#problems.values()]
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
      if (findings.count === 0) await copyTree(this.options, { note, size }, target, older?.size ?? 0)
    })
    return findings.list
  }

  async #tryPublish<Result>(
    target: 'copy' | 'witness',
    problem: string,
    action: () => Promise<Result>,
  ): Promise<Result | undefined> {
    try {
      const result = await action()
      this.#problems.delete(problem)
      return result
    } catch (error) {
      if (!(error instanceof PublishError || error instanceof VerificationError)) throw error
      this.#problems.set(problem, `${problem}: ${error.message}.`)
      this.options.logger.warn({ err: error }, 'the checkpoint was not published')
      this.options.publishFailed(target)
      return undefined
    }
  }
}
