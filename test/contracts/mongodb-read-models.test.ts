import t from 'tap'
import { openMongodbReadModels } from '../../src/read-models/mongodb/mongodb-read-models.js'
import { isFerretDb1, testDatabaseUrl, withoutMongodb } from '../support/mongodb.js'
import { readModelsContract } from './read-models.contract.js'

/** As docs/reference/mongodb.md says. */
const ferretDb1Exceptions = {
  'a missing unique field counts as null, which one document may have':
    'FerretDB 1: any number of documents may lack the field of a unique index',
}

t.test('the contract on MongoDB', { skip: withoutMongodb }, async (t) => {
  const url = testDatabaseUrl('contract')
  readModelsContract(t, {
    name: 'mongodb',
    open: async () => openMongodbReadModels({ url }),
    exceptions: (await isFerretDb1(url)) ? ferretDb1Exceptions : {},
  })
})
