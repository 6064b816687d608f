import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** Creates a directory that is removed when the test ends. */
export function tempDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'transferd-test-'))
  t.teardown(() => {
    // `rmSync` lists a directory once, so its own retries never remove a file that appears after that.
    for (let tries = 1; ; tries++) {
      try {
        return rmSync(directory, { recursive: true, force: true })
      } catch (error) {
        if (tries === 10) throw error
      }
    }
  })
  return directory
}
