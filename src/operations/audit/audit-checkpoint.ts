import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Returns the signed checkpoint of the log's tree, or `undefined` before the first one. */
export async function readAuditCheckpoint(auditDirectory: string): Promise<string | undefined> {
  try {
    return await readFile(join(auditDirectory, 'checkpoint'), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
