import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t from 'tap'
import { long } from '../support/long.js'
import { openTestReadModels, removeTestReadModels } from '../support/read-models.js'
import { repetitionContract } from './repetition.contract.js'

const directory = tempDirectory(t)
const readModels = await openTestReadModels(directory)
t.teardown(async () => {
  await readModels.close()
  await removeTestReadModels(directory)
})
repetitionContract(t, readModels, long ? 60 : 10)
