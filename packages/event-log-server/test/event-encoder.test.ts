import type { StoredEvent } from '@transferd/event-log/streams'
import { positionText, tombstoneRevision } from '@transferd/event-log/streams'
import fc from 'fast-check'
import t from 'tap'
import { encodeEvent } from '../src/wire/event-encoder.js'
import { persistent, shared, streams } from '../src/wire/generated-protocol.js'
import { revisionText, setPosition, streamIdentifier } from '../src/wire/wire-values.js'

const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 20 }), fc.string({ minLength: 100, maxLength: 300 }))
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.nat(20_000).map((length) => new Uint8Array(length)),
)
const anyEvent: fc.Arbitrary<StoredEvent> = fc.record({
  id: fc.oneof(
    fc.uuid(),
    fc.constant('00000000-0000-0000-8000-000000000001'),
    fc.constant('f0000000-0000-0000-0000-000000000000'),
  ),
  type: text,
  isJson: fc.boolean(),
  data: bytes,
  metadata: bytes,
  stream: text.filter((each) => each !== ''),
  revision: fc.oneof(fc.constant(0), fc.nat(), fc.maxSafeNat(), fc.constant(tombstoneRevision)),
  position: fc.integer({ min: 1, max: 2 ** 46 }),
  recordedAtMs: fc.integer({ min: 0, max: 4_000_000_000_000 }),
})

/** Returns an id in the two forms of the protocol. */
function uuidOf(id: string, isStructured: boolean) {
  if (!isStructured) return new shared.UUID().setString(id)
  const half = (hex: string) => `${BigInt.asIntN(64, BigInt(`0x${hex}`))}`
  const digits = id.replaceAll('-', '')
  const bits = new shared.UUID.Structured().setMostSignificantBits(half(digits.slice(0, 16)))
  return new shared.UUID().setStructured(bits.setLeastSignificantBits(half(digits.slice(16))))
}

/** Encodes a response with the generated code of either service. */
function generated(
  { ReadResp }: typeof streams | typeof persistent,
  { event, link }: Parameters<typeof encodeEvent>[0],
  isStructured: boolean,
  retryCount?: number,
): Buffer {
  const { ReadEvent } = ReadResp as typeof streams.ReadResp
  const recorded = (stored: StoredEvent) => {
    const message = setPosition(new ReadEvent.RecordedEvent(), stored.position).setId(uuidOf(stored.id, isStructured))
    message.setStreamIdentifier(streamIdentifier(stored.stream)).setStreamRevision(revisionText(stored.revision))
    message.setData(stored.data).setCustomMetadata(stored.metadata)
    const contentType = stored.isJson ? 'application/json' : 'application/octet-stream'
    message.getMetadataMap().set('type', stored.type).set('created', `${stored.recordedAtMs}0000`.replace(/^0+$/, '0'))
    message.getMetadataMap().set('content-type', contentType)
    return message
  }
  const read = new ReadEvent().setCommitPosition(positionText((link ?? event)!.position))
  if (event) read.setEvent(recorded(event))
  if (link) read.setLink(recorded(link))
  if (retryCount !== undefined) (read as InstanceType<typeof persistent.ReadResp.ReadEvent>).setRetryCount(retryCount)
  return Buffer.from(new (ReadResp as typeof streams.ReadResp)().setEvent(read).serializeBinary())
}

t.test('encodes events and links of both services exactly like the generated code', async (t) => {
  const resolved = fc.oneof(
    fc.record({ event: anyEvent }),
    fc.record({ link: anyEvent }),
    fc.record({ event: anyEvent, link: anyEvent }),
  )
  fc.assert(
    fc.property(
      resolved,
      fc.boolean(),
      fc.nat(),
      (each, isStructured, retryCount) =>
        encodeEvent(each, isStructured).equals(generated(streams, each, isStructured)) &&
        encodeEvent(each, isStructured, retryCount).equals(generated(persistent, each, isStructured, retryCount)),
    ),
  )
  t.pass()
})
