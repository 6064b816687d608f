import { escapeHidden } from '../kernel/text.js'

/** Returns the lines of a signed note: the origin, the size and the root hash of a checkpoint, and each signature. */
export function checkpointText(note: string): string {
  const lines = note.split('\n').filter((line) => line !== '')
  return `Checkpoint\n${lines.map((line) => `  ${escapeHidden(line)}\n`).join('')}`
}
