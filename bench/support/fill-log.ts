import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const file = fileURLToPath(new URL('fill-log-process.js', import.meta.url))

/** Fills a log with two events per transfer. Returns the stream of the last event, which is the stream's second event. */
export function fillLog(directory: string, transfers: number): string {
  return execFileSync(process.execPath, [file, directory, String(transfers)], { encoding: 'utf8' })
}
