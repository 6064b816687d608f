import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CommitWatcher } from '../src/reader/commit-watcher.js'
import { until } from './support/group-scene.js'
import { tempDirectory } from './support/temp-directory.js'

/** Watches a log without commits. The functions simulate writes of another process and classify the interval of the last two checks. */
function watched(t: Test) {
  const wal = join(tempDirectory(t), 'events.db-wal')
  writeFileSync(wal, '')
  const checksAtMs: number[] = []
  let position = 0
  const commits = new CommitWatcher(wal, () => {
    checksAtMs.push(performance.now())
    return position
  })
  t.teardown(() => commits.close())
  return {
    commits,
    write: () => appendFileSync(wal, 'x'),
    commit: () => {
      position += 1
    },
    isSlow: () => gapMs(checksAtMs) > 900,
    isQuick: () => gapMs(checksAtMs) < 500,
  }
}

function gapMs(checksAtMs: readonly number[]): number {
  return (checksAtMs.at(-1) ?? 0) - (checksAtMs.at(-2) ?? 0)
}

t.test('rarely checks an idle log until another process writes', async (t) => {
  const { commits, write, commit, isSlow, isQuick } = watched(t)
  const woken = commits.waitForCommit(0, new AbortController().signal)
  await until(isSlow)
  t.ok(isSlow(), 'checks rarely while nothing happens')
  write()
  await until(isQuick)
  t.ok(isQuick(), 'checks often after a write, which may not be committed yet')
  commit()
  await woken
})

t.test('detects a commit without a file change event', async (t) => {
  const { commits, commit, isSlow } = watched(t)
  const woken = commits.waitForCommit(0, new AbortController().signal)
  await until(isSlow)
  commit()
  await woken
})

t.test('keeps checking often if the file cannot be watched', async (t) => {
  const checksAtMs: number[] = []
  const commits = new CommitWatcher(join(tempDirectory(t), 'missing'), () => checksAtMs.push(performance.now()) && 0)
  t.teardown(() => commits.close())
  const stop = new AbortController()
  const waiting = commits.waitForCommit(0, stop.signal)
  await until(() => checksAtMs.length > 40)
  t.ok(checksAtMs.length > 40)
  stop.abort()
  await waiting
})
