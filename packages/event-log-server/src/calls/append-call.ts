import type { AppendReq, AppendResp } from '@eventstore/db-client/generated/streams_pb.js'
import { type handleClientStreamingCall, type ServerReadableStream, status } from '@grpc/grpc-js'
import { maxAppendBytes } from '@transferd/event-log'
import type { Outcome } from '@transferd/event-log/streams'
import { positionText } from '@transferd/event-log/streams'
import { CallError, streamDeleted, toCallError, unforeseen } from '../wire/call-error.js'
import { streams } from '../wire/generated-protocol.js'
import { type ExpectedOnWire, empty, expectedOf, streamName } from '../wire/wire-values.js'
import { given, type ServerContext } from './call-handlers.js'
import { ProposedEvents } from './proposed-events.js'

/** `Streams.Append`: one append per call. */
export function appendCall(context: ServerContext): handleClientStreamingCall<AppendReq, AppendResp> {
  return (call, answer) => {
    append(context, call).then(
      (response) => answer(null, response),
      (error) => answer(toCallError(error, context.onFault)),
    )
  }
}

async function append(
  { store, access }: ServerContext,
  call: ServerReadableStream<AppendReq, AppendResp>,
): Promise<AppendResp> {
  const user = await access.caller(call)
  access.mustBeKnownToSend(user)
  // Nobody listened for data so far, so nothing is lost; nor is it held for those who may not even ask.
  const { options: sent, proposed } = await received(call)
  const options = given(sent)
  const stream = streamName(options.getStreamIdentifier())
  const wanted = expectedOf(options, options.getRevision())
  access.mayUse(user, 'write', stream)
  if (proposed.refusal === 'malformed') throw unforeseen()
  if (proposed.refusal === 'too_large') throw appendTooLarge()
  const outcome = await store.append(stream, wanted.expected, proposed.events)
  return responseOf(stream, wanted, outcome)
}

/** All of the request; what is too large is read to its end as well, and dropped. */
function received(
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
    const gone = () => reject(new CallError(status.CANCELLED, 'The client has gone.'))
    if (call.cancelled) gone()
    call.on('cancelled', gone)
  })
}

export function appendTooLarge(): CallError {
  return new CallError(status.INVALID_ARGUMENT, `Maximum Append Size of ${maxAppendBytes} Exceeded.`, {
    exception: 'maximum-append-size-exceeded',
    'maximum-append-size': `${maxAppendBytes}`,
  })
}

function responseOf(stream: string, wanted: ExpectedOnWire, outcome: Outcome): AppendResp {
  switch (outcome.kind) {
    case 'ok': {
      const success = new streams.AppendResp.Success().setCurrentRevision(`${outcome.revision}`)
      if (outcome.position === undefined) success.setNoPosition(empty())
      else {
        const text = positionText(outcome.position)
        success.setPosition(new streams.AppendResp.Position().setCommitPosition(text).setPreparePosition(text))
      }
      return new streams.AppendResp().setSuccess(success)
    }
    case 'wrong_revision':
      return new streams.AppendResp().setWrongExpectedVersion(wrongVersion(wanted, outcome.actual))
    case 'deleted':
      throw streamDeleted(stream)
    default:
      return outcome satisfies never
  }
}

/** The fields of servers before 20.6.1 are set too, for clients that look at them. */
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
