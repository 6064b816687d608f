import { appendFileSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { SecurityFields } from '../../security/security-log.js'

const event = 'security.operator_command'
const mode = 0o600

/**
 * Appends a line to `<directory>/security.log`, because stderr belongs to the script that runs a command, and commands that only read or copy
 * the log append no event. The file is opened for each line, so it can be moved away at any time.
 */
export function logOperatorCommand(directory: string, at: string, fields: SecurityFields<typeof event>): void {
  // Otherwise the directory would exist, and the next restore into it would be rejected.
  if (fields.outcome !== 'done' && !existsSync(directory)) return
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  appendFileSync(join(directory, 'security.log'), `${JSON.stringify({ time: at, event, ...fields })}\n`, { mode })
}
