import t from 'tap'
import { openMongodbReadModels } from '../../src/read-models/mongodb/mongodb-read-models.js'
import { type OtherServer, otherServer, testDatabaseUrl, withoutMongodb } from '../support/mongodb.js'
import { readModelsContract } from './read-models.contract.js'

/** The exceptions that docs/reference/mongodb.md documents. */
const exceptions: { readonly [server in OtherServer]: { readonly [title: string]: string } } = {
  'FerretDB 1': {},
  'mongo-java-server': {
    'generated filters, sorts and limits answer as MongoDB does':
      'mongo-java-server: $gte and $lte with null select nothing, and not what is null or missing',
    'updates that make no sense are refused': 'mongo-java-server: $inc of null makes a number of it',
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
