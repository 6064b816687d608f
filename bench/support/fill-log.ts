import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const file = fileURLToPath(new URL('fill-log-process.js', import.meta.url))

/** Two events of each transfer. Answers the stream of the last event, which is its second one. */
export function fillLog(directory: string, transfers: number): string {
  return execFileSync(process.execPath, [file, directory, String(transfers)], { encoding: 'utf8' })
}
