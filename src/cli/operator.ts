import { randomUUID } from 'node:crypto'
import { userInfo } from 'node:os'
import type { CommandContext } from '../commands/handle-command.js'

/** Whoever runs this command, and what it belongs to. */
export function operatorContext(): CommandContext {
  const correlationId = randomUUID()
  return { actor: `cli:${userName()}`, $correlationId: correlationId, $causationId: correlationId }
}

/** A container's user often has a number only. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}
