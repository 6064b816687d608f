import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The signed checkpoint of the log's tree; undefined where there is none yet. */
export async function readAuditCheckpoint(auditDirectory: string): Promise<string | undefined> {
  try {
    return await readFile(join(auditDirectory, 'checkpoint'), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
