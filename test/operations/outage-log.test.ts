import t from 'tap'
import { StoreUnavailableError } from '../../src/event-store/event-store.js'
import { OutageLog } from '../../src/operations/logging/outage-log.js'
import { ReadModelsUnavailableError } from '../../src/read-models/read-models.js'

t.test('replaces the failures of a store by a line at the beginning, each minute, and at the end', async (t) => {
  let nowMs = 1_000
  const outages = new OutageLog(() => nowMs)
  const lines: string[] = []
  const note = (found: readonly { readonly msg: string; readonly failures: number }[]) => {
    for (const { msg, failures } of found) lines.push(`${(nowMs - 1_000) / 1_000} s: ${msg} (${failures})`)
  }
  // A failure every five seconds for 70 seconds, from both stores during the first ten.
  for (; nowMs <= 71_000; nowMs += 5_000) {
    note(outages.linesFor(new StoreUnavailableError('down')) ?? [])
    if (nowMs <= 11_000) note(outages.linesFor(new ReadModelsUnavailableError('down')) ?? [])
    note(outages.over())
  }
  for (; nowMs <= 100_000; nowMs += 1_000) note(outages.over())
  note(outages.linesFor(new StoreUnavailableError('down')) ?? [])
  t.strictSame(lines, [
    '0 s: the event store is unavailable (1)',
    '0 s: the read model store is unavailable (1)',
    '30 s: the read model store was unavailable for 10 s (2)',
    '60 s: the event store is still unavailable (12)',
    '90 s: the event store was unavailable for 70 s (2)',
    '100 s: the event store is unavailable (1)',
  ])
})

t.test('leaves other errors alone', async (t) => {
  t.equal(new OutageLog().linesFor(new Error('the event store is unavailable')), undefined)
  t.equal(new OutageLog().linesFor('text'), undefined)
})
