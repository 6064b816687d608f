import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openEmbeddedEventStore } from '../../src/event-store/embedded.js'
import { eventStoreContract } from './event-store.contract.js'

eventStoreContract(t, {
  name: 'the embedded event store',
  open: async () => {
    const directory = mkdtempSync(join(tmpdir(), 'transferd-contract-'))
    t.teardown(() => rmSync(directory, { recursive: true }))
    return openEmbeddedEventStore({ directory })
  },
})
