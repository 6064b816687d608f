import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Value } from '../../kernel/typebox.js'
import { Manifest } from './manifest-schema.js'

export type { Manifest } from './manifest-schema.js'

/** A backup that is damaged, incomplete or none of ours, or a place that must not be written; the message says what and where. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
}

export const format = 'transferd backup 1'
const setName = /^\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}\.\d{3}Z\.json$/

export function setsIn(target: string): string {
  return join(target, 'sets')
}

/** Of every backup in the target, oldest first: a manifest is written last, so what has one is complete. */
export function manifestsIn(target: string): string[] {
  try {
    const names = readdirSync(setsIn(target)).filter((name) => setName.test(name))
    return names.sort().map((name) => join(setsIn(target), name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** @throws BackupError */
export function readManifest(path: string): Manifest {
  let manifest: unknown
  try {
    manifest = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new BackupError(`${path} cannot be read: ${(error as Error).message}`)
  }
  if (!Value.Check(Manifest, manifest)) {
    const at = Value.Errors(Manifest, manifest).First()?.path
    throw new BackupError(`${path} is no manifest of a backup that this program knows (${at || '/'})`)
  }
  const [files, chunks] = [manifest.files, manifest.chunks].map((all) => all.reduce((sum, { bytes }) => sum + bytes, 0))
  if (files !== chunks)
    throw new BackupError(`${path} contradicts itself: its files have ${files} bytes, its parts ${chunks}`)
  if (new Set(manifest.files.map(({ path: file }) => file)).size < manifest.files.length)
    throw new BackupError(`${path} names a file twice`)
  return manifest
}
