import t from 'tap'
import { isServiceStream, streamKind, streamPrefixes } from '../../../src/domain/streams.js'
import { belongs } from '../../../src/event-store/event-codec.js'

t.test('only the service can write to streams with its prefixes', async (t) => {
  for (const prefix of streamPrefixes) t.ok(isServiceStream(`${prefix}x`), prefix)
})

t.test('an event belongs in streams of one kind, and streams of other programs can hold any event', async (t) => {
  t.ok(belongs('TransferCompleted', 'transfer-1'))
  t.notOk(belongs('TransferCompleted', 'merchant-1'), 'a transfer event does not belong in the stream of a merchant')
  t.notOk(belongs('CallbackRecorded', 'callbacks-sweep'))
  t.ok(belongs('TransferCompleted', 'elsewhere-1'))
  t.ok(belongs('UnknownType', 'merchant-1'), 'an unknown type is accepted here and reported by the decoder')
  t.equal(streamKind('callbacks-endpoint-1'), 'callbacks-')
  t.equal(streamKind('transfers-1'), undefined)
  t.equal(streamKind('transfer'), undefined)
})
