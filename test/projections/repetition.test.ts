import t from 'tap'
import { openTestReadModels, removeTestReadModels } from '../support/read-models.js'
import { tempDirectory } from '../support/temp-directory.js'
import { repetitionContract } from './repetition.contract.js'

const directory = tempDirectory(t)
const readModels = await openTestReadModels(directory)
t.teardown(async () => {
  await readModels.close()
  await removeTestReadModels(directory)
})
// Beside a server, and one that is slow at it, each write is a round trip.
repetitionContract(t, readModels, process.env.READ_MODEL_URL?.startsWith('mongodb') ? 5 : 60)
