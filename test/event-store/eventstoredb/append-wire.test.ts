import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import fc from 'fast-check'
import protobufEmpty from 'google-protobuf/google/protobuf/empty_pb.js'
import protobufTimestamp from 'google-protobuf/google/protobuf/timestamp_pb.js'
import t from 'tap'
import { type AppendMessage, decodeResponse, encodeAppend } from '../../../src/event-store/eventstoredb/append-wire.js'
import { identifierOf } from '../../../src/event-store/eventstoredb/eventstoredb-reads.js'

const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ minLength: 100, maxLength: 300 }))
const id = fc.uuid()
const number = fc.oneof(fc.nat(), fc.maxSafeNat())
const uuidOf = (each: string) => new shared.UUID().setString(each)

interface Answered {
  readonly correlationId: string
  readonly revision: number
  readonly commit: number
  readonly prepare: number
  readonly isLong: boolean
}

/** Encodes a message with the generated code. */
function generated({ correlationId, options, events, isFinal }: AppendMessage): Buffer {
  const request = new streams.BatchAppendReq().setCorrelationId(uuidOf(correlationId)).setIsFinal(isFinal)
  if (options) {
    const { stream, expectedRevision, deadlineAtMs } = options
    const sent = new streams.BatchAppendReq.Options().setStreamIdentifier(identifierOf(stream))
    sent.setDeadline(protobufTimestamp.Timestamp.fromDate(new Date(deadlineAtMs)))
    if (expectedRevision === 'no_stream') sent.setNoStream(new protobufEmpty.Empty())
    else if (expectedRevision === 'any') sent.setAny(new protobufEmpty.Empty())
    else if (expectedRevision === 'stream_exists') sent.setStreamExists(new protobufEmpty.Empty())
    else sent.setStreamPosition(`${expectedRevision}`)
    request.setOptions(sent)
  }
  for (const event of events) {
    const message = new streams.BatchAppendReq.ProposedMessage().setId(uuidOf(event.id))
    message.setData(Buffer.from(event.data)).setCustomMetadata(Buffer.from(event.metadata))
    message.getMetadataMap().set('type', event.type).set('content-type', 'application/json')
    request.addProposedMessages(message)
  }
  return Buffer.from(request.serializeBinary())
}

t.test('encodes an append exactly like the generated code', async (t) => {
  const json = fc.json({ maxDepth: 2 })
  const event = fc.record({ id, type: text.filter((each) => each !== ''), data: json, metadata: json })
  const expectedRevision = fc.oneof(fc.constantFrom('no_stream', 'any', 'stream_exists'), number)
  const deadlineAtMs = fc.integer({ min: 1_000, max: 4_000_000_000_000 })
  const options = fc.record({ stream: text.filter((each) => each !== ''), expectedRevision, deadlineAtMs })
  const events = fc.array(event, { maxLength: 4 })
  const message = fc.record(
    { correlationId: id, options, events, isFinal: fc.boolean() },
    { requiredKeys: ['correlationId', 'events', 'isFinal'] },
  )
  fc.assert(fc.property(message, (each) => encodeAppend(each).equals(generated(each))))
  t.pass()
})

t.test('decodes a response like the generated code, and does not report a truncated one as a success', async (t) => {
  const answer = fc.record({
    correlationId: id,
    revision: number,
    commit: number,
    prepare: number,
    isLong: fc.boolean(),
  })
  const bytesOf = ({ correlationId, revision, commit, prepare, isLong }: Answered) => {
    const position = new shared.AllStreamPosition().setCommitPosition(`${commit}`).setPreparePosition(`${prepare}`)
    const success = new streams.BatchAppendResp.Success().setCurrentRevision(`${revision}`).setPosition(position)
    const response = new streams.BatchAppendResp().setCorrelationId(uuidOf(correlationId)).setSuccess(success)
    // EventStoreDB repeats the request in its response.
    if (isLong) response.setStreamIdentifier(identifierOf('stream-1')).setStreamPosition(`${revision}`)
    return Buffer.from(response.serializeBinary())
  }
  fc.assert(
    fc.property(answer, fc.nat({ max: 200 }), (each, cut) => {
      const { correlationId, revision, commit, prepare } = each
      const bytes = bytesOf(each)
      const position = { commit: BigInt(commit), prepare: BigInt(prepare || commit) }
      t.strictSame(decodeResponse(bytes), { correlationId, revision, position })
      const rest = bytes.subarray(0, cut % bytes.length)
      try {
        const found = decodeResponse(rest)
        // A response that is truncated between two fields is still a valid message.
        if ('revision' in found) t.strictSame(found, { correlationId, revision, position })
      } catch {
        // The generated code rejects the message, which ends the call.
      }
    }),
  )
})

t.test('leaves every response except a plain success to the generated code', async (t) => {
  const structured = new shared.UUID.Structured().setMostSignificantBits('-1').setLeastSignificantBits('1')
  const response = new streams.BatchAppendResp().setCorrelationId(new shared.UUID().setStructured(structured))
  const correlationId = 'ffffffff-ffff-ffff-0000-000000000001'
  const decoded = () => decodeResponse(Buffer.from(response.serializeBinary()))
  t.same(decoded(), { correlationId, isEmpty: true })
  const success = new streams.BatchAppendResp.Success().setCurrentRevision('7').setNoPosition(new protobufEmpty.Empty())
  response.setSuccess(success)
  t.match(decoded(), { correlationId, revision: 7, position: undefined })
})
