import t from 'tap'
import { badEventsContract } from './bad-events.contract.js'

badEventsContract(t, 'embedded')
