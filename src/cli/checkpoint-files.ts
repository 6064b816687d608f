import { readFileSync } from 'node:fs'
import { UsageError } from './command.js'

// Files and keys that auditors and operators supply. An unusable one is wrong usage, not a finding.

/** @throws UsageError */
export function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
}

/** Reads a checkpoint file without verifying its signatures. @throws UsageError */
export async function checkpointIn(path: string): Promise<string> {
  const { parseCheckpoint, parseNote } = await import('@transferd/transparency-log')
  const note = contentOf(path)
  try {
    parseCheckpoint(parseNote(note).text)
  } catch (error) {
    throw new UsageError(`${path} is not a checkpoint: ${(error as Error).message}`)
  }
  return note
}

/** Parses the value of `--key`. @throws UsageError */
export async function verifierOf(key: string) {
  const { parseVerifier } = await import('@transferd/transparency-log')
  try {
    return parseVerifier(key)
  } catch (error) {
    throw new UsageError(`--key: ${(error as Error).message}`)
  }
}
