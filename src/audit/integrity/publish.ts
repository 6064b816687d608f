import {
  addCheckpointPath,
  addCheckpointRequest,
  DirectoryTiles,
  filesSince,
  type NoteVerifier,
  seenSize,
  type TileStore,
  TreeReader,
  VerificationError,
  withCosignature,
} from '@transferd/transparency-log'
import { checkpointPath } from './sealer.js'

const timeoutMs = 10_000

/** Cosigns a checkpoint when it goes on from the one that it has seen last (C2SP tlog-witness). */
export interface Witness {
  /** Without a slash at the end. */
  readonly url: string
  readonly key: NoteVerifier
}

/** Where a second tree is kept: whoever edits this one does not reach it. */
export type CopyTarget =
  | { readonly kind: 'directory'; readonly directory: string }
  /** Each file is PUT below it. Without a slash at the end. */
  | { readonly kind: 'url'; readonly url: string; readonly authorization: string | undefined }

/** A copy or a witness did not do what it was asked: nothing is wrong with the tree. */
export class PublishError extends Error {
  override readonly name = 'PublishError'
}

/** The checkpoint with the witness's cosignature. `seen` is what it has seen last, as far as known. @throws PublishError */
export async function cosigned(
  tiles: TileStore,
  { note, size }: { readonly note: string; readonly size: number },
  { url, key }: Witness,
  seen: number,
): Promise<string> {
  const tree = new TreeReader(tiles, size)
  const ask = async (from: number) => {
    const body = addCheckpointRequest(from, await tree.consistencyProof(from), note)
    return answerTo(`${url}${addCheckpointPath}`, { method: 'POST', body })
  }
  try {
    let answer = await ask(Math.min(seen, size))
    if (answer.status === 409) {
      const known = seenSize(answer.text)
      if (known > size)
        throw new PublishError(`${url} has seen ${known} leaves, the tree has ${size}: was it cut back?`)
      answer = await ask(known)
    }
    if (answer.status !== 200) throw new PublishError(`${url} answered ${answer.status}`)
    return withCosignature(note, answer.text, key)
  } catch (error) {
    if (error instanceof VerificationError) throw new PublishError(`${url}: ${error.message}`)
    throw error
  }
}

/** The checkpoint that the copy has; undefined where it has none. @throws PublishError */
export async function copiedCheckpoint(target: CopyTarget): Promise<string | undefined> {
  if (target.kind === 'directory') {
    const bytes = await new DirectoryTiles(target.directory).read(checkpointPath)
    return bytes && Buffer.from(bytes).toString('utf8')
  }
  const { status, text } = await answerTo(`${target.url}/${checkpointPath}`, { headers: headersOf(target) })
  if (status === 200) return text
  if (status === 404 || status === 403 || status === 405) return undefined
  throw new PublishError(`${target.url} answered ${status}`)
}

/** The files that a copy of `from` leaves lacks, and the checkpoint behind them. @throws PublishError, VerificationError */
export async function copyTree(
  tiles: TileStore,
  { note, size }: { readonly note: string; readonly size: number },
  target: CopyTarget,
  from: number,
): Promise<void> {
  const write = target.kind === 'directory' ? directoryWriter(target.directory) : urlWriter(target)
  for (const path of filesSince(from, size)) {
    // One that has become full since is copied full: it stands for its partial ones.
    const bytes = (await tiles.read(path)) ?? (await tiles.read(path.replace(/\.p\/\d+$/, '')))
    if (bytes === undefined) throw new VerificationError(`${path} is missing`)
    await write(path, bytes)
  }
  await write(checkpointPath, Buffer.from(note))
}

type Write = (path: string, bytes: Uint8Array) => Promise<void>

function directoryWriter(directory: string): Write {
  const tiles = new DirectoryTiles(directory)
  return async (path, bytes) => {
    try {
      await tiles.write(path, bytes)
    } catch (error) {
      throw new PublishError(`${directory} cannot be written: ${(error as NodeJS.ErrnoException).code}`)
    }
  }
}

function urlWriter(target: Extract<CopyTarget, { kind: 'url' }>): Write {
  return async (path, bytes) => {
    const { status } = await answerTo(`${target.url}/${path}`, {
      method: 'PUT',
      body: bytes,
      headers: headersOf(target),
    })
    if (status < 200 || status > 299) throw new PublishError(`${target.url} answered ${status}`)
  }
}

function headersOf({ authorization }: { readonly authorization: string | undefined }): Record<string, string> {
  return authorization === undefined ? {} : { authorization }
}

/** What it answers is at most a note. @throws PublishError */
async function answerTo(
  url: string,
  request: RequestInit,
): Promise<{ readonly status: number; readonly text: string }> {
  try {
    const answer = await fetch(url, { ...request, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) })
    return { status: answer.status, text: await answer.text() }
  } catch (error) {
    const { cause, name } = error as Error
    throw new PublishError(`${new URL(url).origin} cannot be reached: ${(cause as { code?: string })?.code ?? name}`)
  }
}
