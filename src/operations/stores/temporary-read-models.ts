import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ReadModels } from '../../read-models/read-models.js'
import { openReadModels } from './stores.js'

interface TemporaryReadModels {
  readonly readModels: ReadModels
  close(): Promise<void>
}

/**
 * Opens empty read models in a directory that only this process uses, and that is removed when they are closed. Directories of killed
 * processes are removed first. @throws ReadModelsUnavailableError
 */
export async function openTemporaryReadModels(dataDirectory: string, purpose: string): Promise<TemporaryReadModels> {
  mkdirSync(dataDirectory, { recursive: true })
  for (const name of readdirSync(dataDirectory)) {
    const [, pid] = new RegExp(`^${purpose}-(\\d+)$`).exec(name) ?? []
    if (pid !== undefined && !isRunning(Number(pid)))
      rmSync(join(dataDirectory, name), { recursive: true, force: true })
  }
  const directory = join(dataDirectory, `${purpose}-${process.pid}`)
  rmSync(directory, { recursive: true, force: true })
  const readModels = await openReadModels({ engine: 'embedded', directory })
  return {
    readModels,
    async close() {
      await readModels.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
