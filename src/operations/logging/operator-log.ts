import { appendFileSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { SecurityFields } from '../../security/security-log.js'

const event = 'security.operator_command'
const mode = 0o600

/**
 * Appends a line to `<directory>/security.log`: a command's stderr is a script's, and commands that read the log or copy it
 * leave no event behind. Opened for each line, so it may be moved away at any time.
 */
export function logOperatorCommand(directory: string, at: string, fields: SecurityFields<typeof event>): void {
  // A restore into it would be refused next, as it is there.
  if (fields.outcome !== 'done' && !existsSync(directory)) return
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  appendFileSync(join(directory, 'security.log'), `${JSON.stringify({ time: at, event, ...fields })}\n`, { mode })
}
