import type { AppendReq, AppendResp } from '@eventstore/db-client/generated/streams_pb.js'
import { type handleClientStreamingCall, type ServerReadableStream, status } from '@grpc/grpc-js'
import { maxAppendBytes } from '@transferd/event-log'
import type { Outcome } from '@transferd/event-log/streams'
import { CallError, streamDeleted, toCallError, unexpectedError } from '../wire/call-error.js'
import { streams } from '../wire/generated-protocol.js'
import { type ExpectedOnWire, empty, parseExpected, parseStream, setPosition } from '../wire/wire-values.js'
import { required, type ServerContext } from './call-handlers.js'
import { ProposedEvents } from './proposed-events.js'

/** Handles `Streams.Append`, which executes one append per call. */
export function appendCall(context: ServerContext): handleClientStreamingCall<AppendReq, AppendResp> {
  return (call, respond) => {
    append(context, call).then(
      (response) => respond(null, response),
      (error) => respond(toCallError(error, context.onFault)),
    )
  }
}

async function append(
  { store, access }: ServerContext,
  call: ServerReadableStream<AppendReq, AppendResp>,
): Promise<AppendResp> {
  const user = await access.authenticate(call)
  access.requireSender(user)
  // No data was read so far, so none is lost, and none was buffered for callers without access.
  const request = await receive(call)
  const options = required(request.options)
  const stream = parseStream(options.getStreamIdentifier())
  const expected = parseExpected(options, options.getRevision())
  access.requireRight(user, 'write', stream)
  const { rejection, events } = request.proposed
  if (rejection === 'malformed') throw unexpectedError()
  if (rejection === 'too_large') {
    throw new CallError(status.INVALID_ARGUMENT, `Maximum Append Size of ${maxAppendBytes} Exceeded.`, {
      exception: 'maximum-append-size-exceeded',
      'maximum-append-size': `${maxAppendBytes}`,
    })
  }
  return responseTo(stream, expected, await store.append(stream, expected.expected, events))
}

/** Receives the whole request. Of one that is too large, it discards the rest. */
function receive(
  call: ServerReadableStream<AppendReq, AppendResp>,
): Promise<{ options: AppendReq.Options | undefined; proposed: ProposedEvents }> {
  return new Promise((resolve, reject) => {
    const proposed = new ProposedEvents()
    let options: AppendReq.Options | undefined
    call.on('data', (request: AppendReq) => {
      options ??= request.getOptions()
      const message = request.getProposedMessage()
      if (message) proposed.add(message)
    })
    call.on('end', () => resolve({ options, proposed }))
    call.on('error', reject)
    const onCancelled = () => reject(new CallError(status.CANCELLED, 'The client has disconnected.'))
    if (call.cancelled) onCancelled()
    call.on('cancelled', onCancelled)
  })
}

function responseTo(stream: string, expected: ExpectedOnWire, outcome: Outcome): AppendResp {
  switch (outcome.kind) {
    case 'ok': {
      const success = new streams.AppendResp.Success()
      if (outcome.revision < 0) success.setNoStream(empty())
      else success.setCurrentRevision(`${outcome.revision}`)
      if (outcome.position === undefined) success.setNoPosition(empty())
      else success.setPosition(setPosition(new streams.AppendResp.Position(), outcome.position))
      return new streams.AppendResp().setSuccess(success)
    }
    case 'wrong_revision':
      return new streams.AppendResp().setWrongExpectedVersion(wrongVersion(expected, outcome.actual))
    case 'deleted':
      throw streamDeleted(stream)
    default:
      return outcome satisfies never
  }
}

/** Returns the error with the fields of servers before 20.6.1 too, for clients that read those. */
function wrongVersion({ expected, revision }: ExpectedOnWire, actual: number): AppendResp.WrongExpectedVersion {
  const wrong = new streams.AppendResp.WrongExpectedVersion()
  if (actual < 0) wrong.setCurrentNoStream(empty()).setNoStream2060(empty())
  else wrong.setCurrentRevision(`${actual}`).setCurrentRevision2060(actual)
  switch (expected) {
    case 'any':
      return wrong.setExpectedAny(empty()).setAny2060(empty())
    case 'no_stream':
      return wrong.setExpectedNoStream(empty())
    case 'stream_exists':
      return wrong.setExpectedStreamExists(empty()).setStreamExists2060(empty())
    default:
      return wrong.setExpectedRevision(revision ?? `${expected}`).setExpectedRevision2060(expected)
  }
}
