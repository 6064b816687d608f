import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { openCollectionKeyStore } from '../../src/privacy/collection-key-store.js'
import { openEmbeddedKeyStore } from '../../src/privacy/embedded/embedded-key-store.js'
import { openEmbeddedReadModels } from '../../src/read-models/embedded/embedded-read-models.js'
import { openMongodbReadModels } from '../../src/read-models/mongodb/mongodb-read-models.js'
import { testDatabaseUrl, withoutMongodb } from '../support/mongodb.js'
import { keyStoreContract } from './key-store.contract.js'

keyStoreContract(t, {
  name: 'file',
  open: async (t) => {
    const directory = t.testdir()
    return () => openEmbeddedKeyStore({ directory })
  },
})

keyStoreContract(t, {
  name: 'collection of embedded read models',
  open: async (t) => {
    const directory = t.testdir()
    return () => openCollectionKeyStore(async () => openEmbeddedReadModels({ directory }))
  },
})

t.test('the contract on MongoDB', { skip: withoutMongodb }, async (t) => {
  const open = async (t: Test) => {
    const url = testDatabaseUrl(`keys_${randomUUID().replaceAll('-', '')}`)
    t.teardown(async () => {
      const readModels = openMongodbReadModels({ url })
      for (const name of await readModels.listCollections()) await readModels.drop(name)
      await readModels.close()
    })
    return () => openCollectionKeyStore(async () => openMongodbReadModels({ url }))
  }
  keyStoreContract(t, { name: 'collection on MongoDB', open })
})
