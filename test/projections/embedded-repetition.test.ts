import t from 'tap'
import { openEmbeddedReadModels } from '../../src/read-models/embedded/embedded-read-models.js'
import { tempDirectory } from '../support/temp-directory.js'
import { repetitionContract } from './repetition.contract.js'

const readModels = await openEmbeddedReadModels({ directory: tempDirectory(t) })
t.teardown(() => readModels.close())
repetitionContract(t, readModels)
