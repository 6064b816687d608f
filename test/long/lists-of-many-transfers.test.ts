import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t from 'tap'
import { runEveryQuery } from '../queries/every-question.js'
import { fillReadModels, openWatchedReadModels } from '../queries/listed-rows.js'

/** Fifty times as many as in the short form. The bound on the rows that a query reads does not depend on the count. */
const count = 200_000

t.setTimeout(600_000)

t.test('no query of 200,000 transfers reads more than a few pages of rows', { timeout: 600_000 }, async (t) => {
  const readModels = openWatchedReadModels(tempDirectory(t))
  t.teardown(() => readModels.close())
  const startedMs = performance.now()
  await fillReadModels(readModels, count)
  t.comment(`${count} rows in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`)
  await runEveryQuery(t, readModels, count)
})
