import t from 'tap'
import { MemoryLog } from '../simulation/stores/memory-event-store.js'
import { eventStoreContract } from './event-store.contract.js'

eventStoreContract(t, { name: 'the event store in memory', open: async () => new MemoryLog().open() })
