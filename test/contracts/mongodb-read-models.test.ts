import t from 'tap'
import { openMongodbReadModels } from '../../src/read-models/mongodb/mongodb-read-models.js'
import { testDatabaseUrl, withoutMongodb } from '../support/mongodb.js'
import { readModelsContract } from './read-models.contract.js'

t.test('the contract on MongoDB', { skip: withoutMongodb }, async (t) => {
  const url = testDatabaseUrl('contract')
  readModelsContract(t, { name: 'mongodb', open: async () => openMongodbReadModels({ url }) })
})
