import { join } from 'node:path'

export function logPath(directory: string): string {
  return join(directory, 'events.db')
}

/** The directory contains no usable event log. The message states what to do. */
export class CannotOpenLogError extends Error {
  override readonly name = 'CannotOpenLogError'
}

/** The log is corrupt: its content differs from the written events. The message names the position. */
export class BrokenLogError extends Error {
  override readonly name = 'BrokenLogError'
}
