import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { keyFileIn } from '../../privacy/embedded/embedded-key-store.js'
import type { Configuration } from '../configuration/configuration.js'

/** In a data directory: the log, or another database of SQLite's. */
export type FileToCheck =
  | { readonly kind: 'log'; readonly directory: string }
  | { readonly kind: 'database'; readonly path: string }

/** What SQLite finds wrong with the log's file, as sentences. */
export function checkLogAtRest(directory: string, signal: AbortSignal): Promise<readonly string[]> {
  return checked({ kind: 'log', directory }, signal)
}

/** Likewise with those of read models and customers' keys: one after the other, with their names. */
export async function checkOtherFiles(
  { readModels, dataDirectory }: Pick<Configuration, 'readModels' | 'dataDirectory'>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (readModels.engine !== 'embedded') return []
  const problems: string[] = []
  for (const path of [join(readModels.directory, 'read-models.db'), keyFileIn(dataDirectory)]) {
    if (!existsSync(path)) continue
    for (const problem of await checked({ kind: 'database', path }, signal)) problems.push(`${path}: ${problem}`)
  }
  return problems
}

/** In a thread of its own, as SQLite reads a whole file in one call. Nothing, when the signal aborts: nobody waits for the rest of the file then. */
async function checked(file: FileToCheck, signal: AbortSignal): Promise<readonly string[]> {
  const worker = new Worker(new URL('./file-checker.js', import.meta.url), { workerData: file, name: 'file checker' })
  try {
    const [problems] = (await once(worker, 'message', { signal })) as [readonly string[]]
    return problems
  } catch (error) {
    if (signal.aborted) return []
    throw error
  } finally {
    void worker.terminate()
  }
}
