import type { DeleteReq, TombstoneReq } from '@eventstore/db-client/generated/streams_pb.js'
import { status } from '@grpc/grpc-js'
import type { Outcome } from '@transferd/event-log/streams'
import type { IncomingCall } from '../access/authenticator.js'
import { CallError, headerText, streamDeleted } from '../wire/call-error.js'
import { streams } from '../wire/generated-protocol.js'
import { type ExpectedOnWire, parseExpected, parseStream, setPosition } from '../wire/wire-values.js'
import { required, type ServerContext, unary } from './call-handlers.js'

const expectedCodes = { any: '-2', no_stream: '-1', stream_exists: '-4' } as const
const responses = { delete: streams.DeleteResp, tombstone: streams.TombstoneResp }

/** Handles `Streams.Delete` and `Streams.Tombstone`. */
export function deleteCall(context: ServerContext, kind: 'delete' | 'tombstone') {
  const { store, access } = context
  const Response = responses[kind]
  return unary(context, async (request: DeleteReq | TombstoneReq, call: IncomingCall) => {
    const user = await access.authenticate(call)
    const options = required(request.getOptions())
    const stream = parseStream(options.getStreamIdentifier())
    const expected = parseExpected(options, options.getRevision())
    access.requireRight(user, 'delete', stream)
    const position = positionOf(stream, expected, await store[kind](stream, expected.expected))
    return new Response().setPosition(setPosition(new Response.Position(), position))
  })
}

function positionOf(stream: string, { expected, revision }: ExpectedOnWire, outcome: Outcome): number {
  switch (outcome.kind) {
    case 'ok':
      return outcome.position ?? 0
    case 'wrong_revision': {
      const wanted = typeof expected === 'number' ? (revision ?? `${expected}`) : expectedCodes[expected]
      const text = `Delete failed due to WrongExpectedVersion. Stream: ${headerText(stream)}, Expected version: ${wanted}, Actual version: ${outcome.actual}`
      throw new CallError(status.FAILED_PRECONDITION, text, {
        exception: 'wrong-expected-version',
        'stream-name': stream,
        'expected-version': wanted,
        'actual-version': `${outcome.actual}`,
      })
    }
    case 'deleted':
      throw streamDeleted(stream)
    default:
      return outcome satisfies never
  }
}
