import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileDurably } from './durable-file.js'

const name = 'restored'

/** Marks a data directory that a restore has just created. */
export function markRestored(dataDirectory: string): void {
  writeFileDurably(join(dataDirectory, name), '')
}

/** Runs `work` if the directory is marked, and then removes the mark. A start that is killed in between repeats the work. */
export async function onceRestored(dataDirectory: string, work: () => Promise<void>): Promise<void> {
  if (!existsSync(join(dataDirectory, name))) return
  await work()
  rmSync(join(dataDirectory, name), { force: true })
}
