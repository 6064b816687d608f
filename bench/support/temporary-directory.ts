import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AtEnd } from './bench-part.js'

export function temporaryDirectory(atEnd: AtEnd): string {
  const path = mkdtempSync(join(tmpdir(), 'transferd-bench-'))
  atEnd(() => rmSync(path, { recursive: true, force: true }))
  return path
}
