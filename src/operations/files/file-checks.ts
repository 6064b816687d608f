import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { keyFileIn } from '../../privacy/embedded/embedded-key-store.js'
import type { Configuration } from '../configuration/configuration.js'

/** Returns the problems of the files of read models and customers' keys, with their paths. */
export async function checkOtherFiles(
  { readModels, receipts, keyStore }: Pick<Configuration, 'readModels' | 'receipts' | 'keyStore'>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const lists = [readModels, receipts].flatMap((each) =>
    each.engine === 'embedded' ? join(each.directory, 'read-models.db') : [],
  )
  const keys = keyStore.engine === 'embedded' ? [keyFileIn(keyStore.directory)] : []
  const problems: string[] = []
  for (const path of new Set([...lists, ...keys])) {
    if (!existsSync(path)) continue
    for (const problem of await check(path, signal)) problems.push(`${path}: ${problem}`)
  }
  return problems
}

/**
 * Checks a file in a separate thread, because SQLite reads all of it in one call. If the signal aborts, this returns no problems without
 * waiting, and the thread ends when the call does: to terminate it while SQLite works in it can abort the process.
 */
async function check(path: string, signal: AbortSignal): Promise<readonly string[]> {
  const worker = new Worker(new URL('./file-checker.js', import.meta.url), { workerData: path, name: 'file checker' })
  try {
    const [problems] = (await once(worker, 'message', { signal })) as [readonly string[]]
    return problems
  } catch (error) {
    if (signal.aborted) return []
    throw error
  }
}
