import type { DeleteReq, DeleteResp, TombstoneReq, TombstoneResp } from '@eventstore/db-client/generated/streams_pb.js'
import { status } from '@grpc/grpc-js'
import type { Outcome } from '@transferd/event-log/streams'
import { positionText } from '@transferd/event-log/streams'
import type { Asking } from '../access/access.js'
import { CallError, streamDeleted } from '../wire/call-error.js'
import { streams } from '../wire/generated.js'
import { type ExpectedOnWire, expectedOf, streamName } from '../wire/values.js'
import { given, type ServerContext } from './call.js'

/** `Streams.Delete` and `Streams.Tombstone`. */

const codes = { any: '-2', no_stream: '-1', stream_exists: '-4' } as const

export async function deleteStream(context: ServerContext, request: DeleteReq, asking: Asking): Promise<DeleteResp> {
  const position = await remove(context, 'delete', request, asking)
  const place = new streams.DeleteResp.Position().setCommitPosition(position).setPreparePosition(position)
  return new streams.DeleteResp().setPosition(place)
}

export async function tombstoneStream(
  context: ServerContext,
  request: TombstoneReq,
  asking: Asking,
): Promise<TombstoneResp> {
  const position = await remove(context, 'tombstone', request, asking)
  const place = new streams.TombstoneResp.Position().setCommitPosition(position).setPreparePosition(position)
  return new streams.TombstoneResp().setPosition(place)
}

async function remove(
  { store, access }: ServerContext,
  how: 'delete' | 'tombstone',
  request: DeleteReq | TombstoneReq,
  asking: Asking,
): Promise<string> {
  const user = await access.caller(asking)
  const options = given(request.getOptions())
  const stream = streamName(options.getStreamIdentifier())
  const wanted = expectedOf(options, options.getRevision())
  access.mayUse(user, 'delete', stream)
  return removed(stream, wanted, await store[how](stream, wanted.expected))
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
