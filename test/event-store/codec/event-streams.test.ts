import t from 'tap'
import { isServiceStream, streamKind, streamPrefixes } from '../../../src/domain/streams.js'
import { belongs } from '../../../src/event-store/event-codec.js'

t.test('every prefix of the service is closed to other writers', async (t) => {
  for (const prefix of streamPrefixes) t.ok(isServiceStream(`${prefix}x`), prefix)
})

t.test('an event belongs in streams of one kind, and streams of other programs can hold any event', async (t) => {
  t.ok(belongs('TransferCompleted', 'transfer-1'))
  t.notOk(belongs('TransferCompleted', 'merchant-1'), 'its fold would take it for a merchant')
  t.notOk(belongs('CallbackRecorded', 'callbacks-sweep'))
  t.ok(belongs('TransferCompleted', 'elsewhere-1'))
  t.ok(belongs('NobodyKnows', 'merchant-1'), 'an unknown type is reported differently')
  t.equal(streamKind('callbacks-endpoint-1'), 'callbacks-')
  t.equal(streamKind('transfers-1'), undefined)
  t.equal(streamKind('transfer'), undefined)
})
