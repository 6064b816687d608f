import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Commits } from '../src/reader/commit-watcher.js'
import { until } from './support/group-scene.js'
import { tempDirectory } from './support/temp-directory.js'

/** Of a log in which nothing happens: when it was looked at, and how to say that another process writes. */
function watched(t: Test) {
  const wal = join(tempDirectory(t), 'events.db-wal')
  writeFileSync(wal, '')
  const looksAtMs: number[] = []
  let position = 0
  const commits = new Commits(wal, () => {
    looksAtMs.push(performance.now())
    return position
  })
  t.teardown(() => commits.close())
  return {
    commits,
    writes: () => appendFileSync(wal, 'x'),
    grows: () => {
      position += 1
    },
    /** The last two looks lay at least (or at most) so far apart. */
    isSlow: () => gapMs(looksAtMs) > 900,
    isQuick: () => gapMs(looksAtMs) < 500,
  }
}

function gapMs(looksAtMs: readonly number[]): number {
  return (looksAtMs.at(-1) ?? 0) - (looksAtMs.at(-2) ?? 0)
}

t.test('an idle log is hardly looked at, until another process writes', async (t) => {
  const { commits, writes, grows, isSlow, isQuick } = watched(t)
  const woken = commits.beyond(0, new AbortController().signal)
  await until(isSlow)
  t.ok(isSlow(), 'nothing happens, so nothing is looked at')
  writes()
  await until(isQuick)
  t.ok(isQuick(), 'what was written may not be committed yet: it is looked for')
  grows()
  await woken
})

t.test('a commit that no change of the file tells of is found all the same', async (t) => {
  const { commits, grows, isSlow } = watched(t)
  const woken = commits.beyond(0, new AbortController().signal)
  await until(isSlow)
  grows()
  await woken
})

t.test('where the file cannot be watched the log is looked at as often as ever', async (t) => {
  const looksAtMs: number[] = []
  const commits = new Commits(join(tempDirectory(t), 'missing'), () => looksAtMs.push(performance.now()) && 0)
  t.teardown(() => commits.close())
  const stop = new AbortController()
  const waiting = commits.beyond(0, stop.signal)
  await until(() => looksAtMs.length > 40)
  t.ok(looksAtMs.length > 40)
  stop.abort()
  await waiting
})
