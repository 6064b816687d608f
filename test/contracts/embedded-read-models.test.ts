import t from 'tap'
import { openEmbeddedReadModels } from '../../src/read-models/embedded/embedded-read-models.js'
import { readModelsContract } from './read-models.contract.js'

readModelsContract(t, { name: 'embedded', open: (t) => openEmbeddedReadModels({ directory: t.testdir() }) })
