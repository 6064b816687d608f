import type { DeleteReq, TombstoneReq } from '@eventstore/db-client/generated/streams_pb.js'
import { status } from '@grpc/grpc-js'
import type { Outcome } from '@transferd/event-log/streams'
import { positionText } from '@transferd/event-log/streams'
import type { Asking } from '../access/authenticator.js'
import { CallError, streamDeleted } from '../wire/call-error.js'
import { streams } from '../wire/generated-protocol.js'
import { type ExpectedOnWire, expectedOf, streamName } from '../wire/wire-values.js'
import { given, type ServerContext, unary } from './call-handlers.js'

const codes = { any: '-2', no_stream: '-1', stream_exists: '-4' } as const
const responses = { delete: streams.DeleteResp, tombstone: streams.TombstoneResp }

/** `Streams.Delete` and `Streams.Tombstone`. */
export function removeCall(context: ServerContext, how: 'delete' | 'tombstone') {
  const { store, access } = context
  const Response = responses[how]
  return unary(context, async (request: DeleteReq | TombstoneReq, asking: Asking) => {
    const user = await access.caller(asking)
    const options = given(request.getOptions())
    const stream = streamName(options.getStreamIdentifier())
    const wanted = expectedOf(options, options.getRevision())
    access.mayUse(user, 'delete', stream)
    const text = removed(stream, wanted, await store[how](stream, wanted.expected))
    return new Response().setPosition(new Response.Position().setCommitPosition(text).setPreparePosition(text))
  })
}

function removed(stream: string, { expected, revision }: ExpectedOnWire, outcome: Outcome): string {
  switch (outcome.kind) {
    case 'ok':
      return positionText(outcome.position ?? 0)
    case 'wrong_revision': {
      const wanted = typeof expected === 'number' ? (revision ?? `${expected}`) : codes[expected]
      const text = `Append failed due to WrongExpectedVersion. Expected version: ${wanted}, actual version: ${outcome.actual}`
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
