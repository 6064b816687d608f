import t from 'tap'
import { openMongodbReadModels } from '../../src/read-models/mongodb/mongodb-read-models.js'
import { type OtherServer, otherServer, testDatabaseUrl, withoutMongodb } from '../support/mongodb.js'
import { readModelsContract } from './read-models.contract.js'

/** The exceptions that docs/reference/mongodb.md documents. */
const exceptions: { readonly [server in OtherServer]: { readonly [title: string]: string } } = {
  'FerretDB 1': {},
  'mongo-java-server': {
    'generated filters, sorts and limits return the same as MongoDB':
      'mongo-java-server: $gte and $lte with null do not select null and missing fields',
    'rejects invalid updates': 'mongo-java-server: $inc turns null into a number',
  },
}

t.test('the contract on MongoDB', { skip: withoutMongodb }, async (t) => {
  const url = testDatabaseUrl('contract')
  const server = await otherServer(url)
  readModelsContract(t, {
    name: 'mongodb',
    open: async () => openMongodbReadModels({ url }),
    exceptions: server ? exceptions[server] : {},
  })
})
