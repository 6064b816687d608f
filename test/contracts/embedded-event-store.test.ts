import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEventLog } from '@transferd/event-log'
import t from 'tap'
import { eventStoreContract } from './event-store.contract.js'

eventStoreContract(t, {
  name: 'the embedded event store',
  open: async () => {
    const directory = mkdtempSync(join(tmpdir(), 'transferd-contract-'))
    t.teardown(() => rmSync(directory, { recursive: true }))
    return openEventLog({ directory })
  },
})
