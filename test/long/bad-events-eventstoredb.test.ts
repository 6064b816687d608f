import t from 'tap'
import { badEventsContract } from '../runtime/bad-events.contract.js'

badEventsContract(t, 'EventStoreDB')
