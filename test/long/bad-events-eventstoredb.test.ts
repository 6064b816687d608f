import t from 'tap'
import { badEventsContract } from '../main/bad-events.contract.js'

badEventsContract(t, 'EventStoreDB')
