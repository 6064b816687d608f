import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t from 'tap'
import { askEverything } from '../queries/every-question.js'
import { fillReadModels, openWatchedReadModels } from '../queries/listed-rows.js'

const count = 1_000_000

t.setTimeout(600_000)

t.test(
  'no question about a million transfers looks at more than a few pages of them',
  { timeout: 600_000 },
  async (t) => {
    const readModels = openWatchedReadModels(tempDirectory(t))
    t.teardown(() => readModels.close())
    const beganMs = performance.now()
    await fillReadModels(readModels, count, count / 10)
    t.comment(`${count} rows in ${((performance.now() - beganMs) / 1000).toFixed(1)} s`)
    await askEverything(t, readModels, count)
  },
)
