import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** Creates a directory that is removed when the test ends. */
export function tempDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'transferd-test-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }))
  return directory
}
