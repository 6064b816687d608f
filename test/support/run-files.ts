import { once } from 'node:events'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import t from 'tap'

/** Runs the test files one at a time in this process, and the teardowns of each file when its tests have ended. */
export async function runFiles(files: readonly string[]): Promise<void> {
  const teardowns: (() => unknown)[] = []
  // After tap's own `t.teardown`, the first pause between two files would end the run.
  t.teardown = (work: () => unknown) => {
    teardowns.unshift(work)
  }
  const { jobs } = t
  for (const file of files) {
    t.comment(file)
    // A file can change these for itself.
    t.jobs = jobs
    t.setTimeout(600_000)
    await import(pathToFileURL(resolve(file)).href)
    while (!t.idle) await once(t, 'idle')
    for (const work of teardowns.splice(0)) await limited(work())
  }
  // A failed test may leave a connection or a server open, which would keep this process alive until tap's timeout.
  if (!t.passing()) process.exit(1)
}

/** Waits for a teardown, which may itself wait for something that a failed test has not released. */
async function limited(work: unknown): Promise<void> {
  if (t.passing()) await work
  else await Promise.race([work, sleep(30_000, undefined, { ref: false })])
}
