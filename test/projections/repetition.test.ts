import t from 'tap'
import { openTestReadModels, removeTestReadModels, withSlowReadModels } from '../support/read-models.js'
import { tempDirectory } from '../support/temp-directory.js'
import { repetitionContract } from './repetition.contract.js'

const directory = tempDirectory(t)
const readModels = await openTestReadModels(directory)
t.teardown(async () => {
  await readModels.close()
  await removeTestReadModels(directory)
})
repetitionContract(t, readModels, withSlowReadModels ? 5 : 60)
