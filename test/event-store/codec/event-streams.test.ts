import t from 'tap'
import { isServiceStream, streamKind, streamPrefixes } from '../../../src/domain/streams.js'
import { belongs } from '../../../src/event-store/event-codec.js'

t.test('every kind of stream that the service has is closed to everybody else', async (t) => {
  for (const prefix of streamPrefixes) t.ok(isServiceStream(`${prefix}x`), prefix)
})

t.test('an event belongs into streams of one kind, and anything may stand in a stream of nobody', async (t) => {
  t.ok(belongs('TransferCompleted', 'transfer-1'))
  t.notOk(belongs('TransferCompleted', 'merchant-1'), 'its fold would take it for a merchant')
  t.notOk(belongs('CallbackRecorded', 'callbacks-sweep'))
  t.ok(belongs('TransferCompleted', 'elsewhere-1'))
  t.ok(belongs('NobodyKnows', 'merchant-1'), 'what cannot be read at all is told otherwise')
  t.equal(streamKind('callbacks-endpoint-1'), 'callbacks-')
  t.equal(streamKind('transfers-1'), undefined)
  t.equal(streamKind('transfer'), undefined)
})
