import t from 'tap'
import { MemoryDocuments } from '../simulation/stores/memory-read-models.js'
import { readModelsContract } from './read-models.contract.js'

readModelsContract(t, { name: 'memory', open: async () => new MemoryDocuments().open() })
