import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Cleanup } from './bench-part.js'

export function temporaryDirectory(cleanup: Cleanup): string {
  const path = mkdtempSync(join(tmpdir(), 'transferd-bench-'))
  cleanup(() => rmSync(path, { recursive: true, force: true }))
  return path
}
