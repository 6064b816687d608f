import type { UUID } from '@eventstore/db-client/generated/shared_pb.js'
import type { BatchAppendReq, BatchAppendResp } from '@eventstore/db-client/generated/streams_pb.js'
import { type handleBidiStreamingCall, type ServerDuplexStream, status } from '@grpc/grpc-js'
import { maxAppendBytes, StoreUnavailableError } from '@transferd/event-log'
import type { Outcome } from '@transferd/event-log/streams'
import type { Message } from 'google-protobuf'
import type { User } from '../access/stored-users.js'
import { CallError } from '../wire/call-error.js'
import { protobufAny, shared, status as statusMessages, streams } from '../wire/generated-protocol.js'
import {
  type ExpectedOnWire,
  googleEmpty,
  parseExpected,
  parseId,
  parseStream,
  setPosition,
  streamIdentifier,
} from '../wire/wire-values.js'
import { duplex, endWith, type ServerContext } from './call-handlers.js'
import { ProposedEvents } from './proposed-events.js'

/** The number and size of appends without a delivered response at which a call stops reading requests. */
const maxWriting = 1_000
const maxWritingBytes = 16 * 1024 * 1024
/** The maximum number and size of incomplete appends of a call. */
const maxPartial = 1_000
const maxPartialBytes = 128 * 1024 * 1024

type Call = ServerDuplexStream<BatchAppendReq, BatchAppendResp>

interface PartialAppend {
  readonly options: BatchAppendReq.Options
  readonly proposed: ProposedEvents
}

/** Handles `Streams.BatchAppend`: any number of appends per call, each with a response under its correlation id. */
export function batchAppendCall(context: ServerContext): handleBidiStreamingCall<BatchAppendReq, BatchAppendResp> {
  return duplex(context, (call: Call, user) => {
    context.access.requireSender(user)
    new BatchAppend(context, call, user).start()
  })
}

class BatchAppend {
  readonly #partial = new Map<string, PartialAppend>()
  #partialBytes = 0
  #writing = 0
  #writingBytes = 0
  #hasEnded = false

  constructor(
    private readonly context: ServerContext,
    private readonly call: Call,
    private readonly user: User | undefined,
  ) {}

  start(): void {
    this.call.on('data', (request: BatchAppendReq) => {
      try {
        this.#receive(request)
      } catch (error) {
        this.call.removeAllListeners('data')
        endWith(this.call, error, this.context)
      }
    })
    this.call.on('end', () => {
      this.#hasEnded = true
      this.#endIfDone()
    })
  }

  #receive(request: BatchAppendReq): void {
    const correlation = request.getCorrelationId()
    const id = parseId(correlation)
    if (correlation === undefined || id === undefined)
      throw new CallError(status.INVALID_ARGUMENT, 'No correlation id.')
    const options = request.getOptions()
    const partial = this.#partial.get(id) ?? (options && { options, proposed: new ProposedEvents() })
    if (partial === undefined) return // the append already has a response
    this.#partial.set(id, partial)
    const bytesBefore = partial.proposed.bytes
    for (const message of request.getProposedMessagesList()) partial.proposed.add(message)
    this.#partialBytes += partial.proposed.bytes - bytesBefore
    if (this.#partial.size > maxPartial || this.#partialBytes > maxPartialBytes)
      throw new CallError(status.RESOURCE_EXHAUSTED, 'Too many unfinished appends.')
    if (!request.getIsFinal()) return
    this.#partial.delete(id)
    this.#partialBytes -= partial.proposed.bytes
    this.#write(correlation, partial)
  }

  #write(correlation: UUID, partial: PartialAppend): void {
    const { bytes } = partial.proposed
    this.#writing += 1
    this.#writingBytes += bytes
    if (this.#isBusy) this.call.pause()
    this.#append(partial)
      .then((response) => this.call.write(response.setCorrelationId(correlation), () => this.#written(bytes)))
      .catch((error) => endWith(this.call, error, this.context))
  }

  #written(bytes: number): void {
    this.#writing -= 1
    this.#writingBytes -= bytes
    if (!this.#isBusy) this.call.resume()
    this.#endIfDone()
  }

  get #isBusy(): boolean {
    return this.#writing >= maxWriting || this.#writingBytes >= maxWritingBytes
  }

  #endIfDone(): void {
    if (this.#hasEnded && this.#writing === 0) this.call.end()
  }

  async #append({ options, proposed }: PartialAppend): Promise<BatchAppendResp> {
    const response = new streams.BatchAppendResp()
    const identifier = options.getStreamIdentifier()
    if (identifier) response.setStreamIdentifier(identifier)
    const { store, access } = this.context
    let stream: string
    let expected: ExpectedOnWire
    try {
      stream = parseStream(identifier)
      expected = parseExpected(options, options.getStreamPosition())
    } catch {
      return response.setError(badRequest('The stream name or the expected revision is invalid.'))
    }
    const deadline = options.getDeadline()
    if (deadline && deadline.toDate().getTime() <= Date.now()) return response.setError(timedOut())
    if (!access.isAllowed(this.user, 'write', stream)) {
      return response.setError(rejected(status.PERMISSION_DENIED, 'AccessDenied', new shared.AccessDenied()))
    }
    if (proposed.rejection === 'malformed') {
      return response.setError(badRequest('An event requires a UUID as its id, and a type.'))
    }
    if (proposed.rejection === 'too_large') {
      const detail = new shared.MaximumAppendSizeExceeded().setMaxappendsize(maxAppendBytes)
      return response.setError(rejected(status.INVALID_ARGUMENT, 'MaximumAppendSizeExceeded', detail))
    }
    try {
      return setOutcome(response, stream, expected, await store.append(stream, expected.expected, proposed.events))
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error
      return response.setError(timedOut()) // the outcome is unknown, as after a timeout
    }
  }
}

function setOutcome(
  response: BatchAppendResp,
  stream: string,
  expected: ExpectedOnWire,
  outcome: Outcome,
): BatchAppendResp {
  switch (outcome.kind) {
    case 'ok': {
      const success = new streams.BatchAppendResp.Success()
      if (outcome.revision < 0) success.setNoStream(googleEmpty())
      else success.setCurrentRevision(`${outcome.revision}`)
      if (outcome.position === undefined) success.setNoPosition(googleEmpty())
      else success.setPosition(setPosition(new shared.AllStreamPosition(), outcome.position))
      return response.setSuccess(success)
    }
    case 'wrong_revision':
      return response.setError(wrongRevision(expected, outcome.actual))
    case 'deleted': {
      const detail = new shared.StreamDeleted().setStreamIdentifier(streamIdentifier(stream))
      return response.setError(rejected(status.NOT_FOUND, 'StreamDeleted', detail))
    }
    default:
      return outcome satisfies never
  }
}

/** Returns the google.rpc.Status of a rejected append. The call continues. */
function rejected(code: number, name: string, detail: Message) {
  const details = new protobufAny.Any()
  details.pack(detail.serializeBinary(), `event_store.client.${name}`)
  return new statusMessages.Status().setCode(code).setMessage(name).setDetails(details)
}

function wrongRevision({ expected, revision }: ExpectedOnWire, actual: number) {
  const detail = new shared.WrongExpectedVersion()
  if (actual < 0) detail.setCurrentNoStream(googleEmpty())
  else detail.setCurrentStreamRevision(`${actual}`)
  if (expected === 'any') detail.setExpectedAny(googleEmpty())
  else if (expected === 'no_stream') detail.setExpectedNoStream(googleEmpty())
  else if (expected === 'stream_exists') detail.setExpectedStreamExists(googleEmpty())
  else detail.setExpectedStreamPosition(revision ?? `${expected}`)
  return rejected(status.ALREADY_EXISTS, 'WrongExpectedVersion', detail)
}

function badRequest(message: string) {
  return rejected(status.INVALID_ARGUMENT, 'BadRequest', new shared.BadRequest().setMessage(message))
}

function timedOut() {
  return rejected(status.DEADLINE_EXCEEDED, 'Timeout', new shared.Timeout())
}
