import { once } from 'node:events'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import t from 'tap'
import { long } from './long.js'
import { responseCheck } from './response-check.js'

/** What `scripts/test.js` receives for each file. */
interface FileResult {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly failures: readonly { readonly name: string; readonly diagnostic: unknown }[]
}

// A good change must not fail because of the cases that a property happened to try. `npm run test:long` tries others.
if (!long) fc.configureGlobal({ seed: 42 })

responseCheck.report = (message) => void t.fail(message)

const fileTimeoutMs = long ? 900_000 : 300_000
const teardowns: (() => unknown)[] = []
// After tap's own `t.teardown`, the first pause between two files would end the run.
t.teardown = (work: () => unknown) => {
  teardowns.unshift(work)
}
const { jobs } = t

/** Runs a test file, and the teardowns of the file when its tests have ended. */
async function runFile(file: string): Promise<FileResult> {
  const before = { ...t.counts }
  const failuresBefore = t.lists.fail.length
  // A file can change these for itself.
  t.jobs = jobs
  t.setTimeout(fileTimeoutMs)
  try {
    await import(pathToFileURL(resolve(file)).href)
  } catch (error) {
    t.fail(
      `the file threw an error: ${error instanceof Error ? error.message : error}`,
      error instanceof Error ? { stack: error.stack ?? '' } : {},
    )
  }
  while (!t.idle) await once(t, 'idle')
  for (const work of teardowns.splice(0)) await limited(work())
  // tap otherwise counts an assertion only with the next line, because its diagnostic could follow.
  t.parser.emitResult()
  const passed = t.counts.pass - before.pass
  const failed = t.counts.fail - before.fail
  return {
    passed,
    failed,
    // A file that ran no test, for example without a browser, is skipped.
    skipped: Math.max(t.counts.skip - before.skip, passed + failed === 0 ? 1 : 0),
    failures: t.lists.fail
      .slice(failuresBefore)
      .map(({ fullname, diag }) => ({ name: fullname.replace('TAP > ', ''), diagnostic: diag })),
  }
}

/** Waits for a teardown, which may itself wait for something that a failed test has not released. */
async function limited(work: unknown): Promise<void> {
  if (t.passing()) await work
  else await Promise.race([work, sleep(30_000, undefined, { ref: false })])
}

process.on('message', async (file: string) => {
  // Only a test may keep the process alive until the file ends, and only the channel after that.
  process.channel!.unref()
  const result = await runFile(file)
  process.channel?.ref()
  process.send?.(result)
})
process.once('disconnect', () => {
  // A failed test may leave a connection or a server open, which would keep this process alive.
  if (!t.passing()) process.exit(1)
})
