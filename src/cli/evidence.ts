import { readFileSync } from 'node:fs'
import { UsageError } from './command.js'

/** What auditors and operators bring along: files and keys. One that cannot be used is a mistake of whoever asks, and no finding. */

/** @throws UsageError */
export function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
}

/** The note in a file with a checkpoint; whether it is signed as it should be is not looked at. @throws UsageError */
export async function checkpointIn(path: string): Promise<string> {
  const { parseCheckpoint } = await import('@transferd/transparency-log')
  const { parseNote } = await import('@transferd/transparency-log')
  const note = contentOf(path)
  try {
    parseCheckpoint(parseNote(note).text)
  } catch (error) {
    throw new UsageError(`${path} is no checkpoint: ${(error as Error).message}`)
  }
  return note
}

/** What `--key` names. @throws UsageError */
export async function verifierOf(key: string) {
  const { parseVerifier } = await import('@transferd/transparency-log')
  try {
    return parseVerifier(key)
  } catch (error) {
    throw new UsageError(`--key: ${(error as Error).message}`)
  }
}
