import { createHash } from 'node:crypto'
import {
  type NoteSigner,
  type NoteVerifier,
  openCheckpoint,
  openNote,
  signNote,
  VerificationError,
} from '@transferd/transparency-log'
import { comparePositions, endOfLog, type Position, parsePosition } from '../../event-store/event-store.js'
import { positionAfter, signedCheckpoint, type TreeParts } from '../integrity/log-sealer.js'

/** The parts of a manifest that a signature uses. It covers all parts. */
export interface SignedManifest {
  /** The last examined position, as `formatPosition` prints it; null for an empty log. */
  readonly until: string | null
  readonly files: readonly { readonly name: string; readonly events: number; readonly sha256: string }[]
  /** The checkpoint that covers every event up to `until`; absent if this node has no such checkpoint. */
  readonly checkpoint?: string
  /** A signature line of a C2SP signed note over {@link signedText}; absent if the log is empty or its key cannot be read. */
  readonly signature?: string
}

export type ExportSealing = ReturnType<typeof exportSealing>

/**
 * Signs the manifests of exports with the key of the log's tree. `key` returns `undefined` for an empty log. A log that does not verify can
 * still be exported, because an investigation needs that, but its manifest names no checkpoint.
 */
export function exportSealing(parts: TreeParts, key: () => Promise<NoteSigner | undefined>) {
  const newest = async (signer: NoteSigner | undefined) => {
    const checkpoint = signer && (await signedCheckpoint(parts.tiles, signer))
    return checkpoint && { note: checkpoint.note, position: await positionAfter(parts, checkpoint.size) }
  }
  return {
    /** Returns the position of the last event that the newest checkpoint covers, or the end of the log without one. */
    async end(): Promise<Position | undefined> {
      const sealed = await unlessInvalid(async () => newest(await key()))
      return sealed?.position ?? endOfLog(parts.store)
    },
    async sign<Manifest extends SignedManifest>(manifest: Manifest): Promise<Manifest & SignedManifest> {
      const signer = await unlessInvalid(key)
      if (!signer) return manifest
      const sealed = await unlessInvalid(() => newest(signer))
      const [until, end] = [manifest.until === null ? undefined : parsePosition(manifest.until), sealed?.position]
      const isCovered = until !== undefined && end !== undefined && comparePositions(until, end) <= 0
      const named = { ...manifest, ...(sealed && isCovered && { checkpoint: sealed.note }) }
      return { ...named, signature: signNote(signedText(named), [signer]).trimEnd().split('\n').at(-1)! }
    },
  }
}

async function unlessInvalid<Result>(attempt: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await attempt()
  } catch (error) {
    if (error instanceof VerificationError || (error as Error).name === 'SecretBoxError') return undefined
    throw error
  }
}

/** Its first line differs from the origin of every checkpoint, so that a signature never counts for the other. */
function signedText({ signature: _, ...manifest }: SignedManifest): string {
  return `transferd-export/2\n${createHash('sha256').update(JSON.stringify(manifest)).digest('hex')}\n`
}

/** Returns a manifest that the key has signed, with the checkpoint that covers its events. @throws VerificationError */
export function openManifest(text: string, verifier: NoteVerifier) {
  const manifest = parsed(text)
  const { signature, checkpoint } = manifest
  if (signature === undefined) throw new VerificationError('the manifest is not signed')
  openNote(`${signedText(manifest)}\n${signature}\n`, [verifier])
  if (checkpoint === undefined) throw new VerificationError('the manifest names no checkpoint that covers its events')
  return { manifest, checkpoint: openCheckpoint(checkpoint, verifier) }
}

function parsed(text: string): SignedManifest {
  try {
    const manifest = JSON.parse(text)
    // Readers may disagree about a repeated name, so only the notations of the service are allowed.
    const notations = [JSON.stringify(manifest), JSON.stringify(manifest, null, 2)]
    if (typeof manifest === 'object' && manifest !== null && notations.includes(text.trimEnd())) return manifest
  } catch {}
  throw new VerificationError('the file is not a manifest')
}
