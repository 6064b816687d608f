import type { UUID } from '@eventstore/db-client/generated/shared_pb.js'
import type { BatchAppendReq, BatchAppendResp } from '@eventstore/db-client/generated/streams_pb.js'
import { type handleBidiStreamingCall, type ServerDuplexStream, status } from '@grpc/grpc-js'
import { maxAppendBytes, StoreUnavailableError } from '@transferd/event-log'
import type { Outcome } from '@transferd/event-log/streams'
import { positionText } from '@transferd/event-log/streams'
import type { Message } from 'google-protobuf'
import type { User } from '../access/stored-users.js'
import { CallError } from '../wire/call-error.js'
import { protobufAny, shared, status as statusMessages, streams } from '../wire/generated-protocol.js'
import { type ExpectedOnWire, expectedOf, googleEmpty, identifierOf, idOf, streamName } from '../wire/wire-values.js'
import { duplex, endWith, type ServerContext } from './call-handlers.js'
import { ProposedEvents } from './proposed-events.js'

/** Appends of one call that are being written, or whose answers the client has not taken; then reading from it pauses. */
const maxWriting = 1_000
const maxWritingBytes = 16 * 1024 * 1024
/** Appends of one call of which only a part has come. */
const maxPartial = 1_000
const maxPartialBytes = 128 * 1024 * 1024

type Call = ServerDuplexStream<BatchAppendReq, BatchAppendResp>

interface Partial {
  readonly options: BatchAppendReq.Options
  readonly proposed: ProposedEvents
}

/** `Streams.BatchAppend`: any number of appends in one call, each answered under its correlation id. */
export function batchAppendCall(context: ServerContext): handleBidiStreamingCall<BatchAppendReq, BatchAppendResp> {
  return duplex(context, (call: Call, user) => {
    context.access.mustBeKnownToSend(user)
    new BatchAppend(context, call, user).start()
  })
}

class BatchAppend {
  readonly #partial = new Map<string, Partial>()
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
        this.#take(request)
      } catch (error) {
        this.call.removeAllListeners('data')
        endWith(this.call, error, this.context)
      }
    })
    this.call.on('end', () => {
      this.#hasEnded = true
      this.#endWhenDone()
    })
  }

  #take(request: BatchAppendReq): void {
    const correlation = request.getCorrelationId()
    const id = idOf(correlation)
    if (correlation === undefined || id === undefined)
      throw new CallError(status.INVALID_ARGUMENT, 'No correlation id.')
    const options = request.getOptions()
    const partial = this.#partial.get(id) ?? (options && { options, proposed: new ProposedEvents() })
    if (partial === undefined) return // its first part was answered already
    this.#partial.set(id, partial)
    const before = partial.proposed.bytes
    for (const message of request.getProposedMessagesList()) partial.proposed.add(message)
    this.#partialBytes += partial.proposed.bytes - before
    if (this.#partial.size > maxPartial || this.#partialBytes > maxPartialBytes)
      throw new CallError(status.RESOURCE_EXHAUSTED, 'Too many unfinished appends.')
    if (!request.getIsFinal()) return
    this.#partial.delete(id)
    this.#partialBytes -= partial.proposed.bytes
    this.#write(correlation, partial)
  }

  #write(correlation: UUID, partial: Partial): void {
    const { bytes } = partial.proposed
    this.#writing += 1
    this.#writingBytes += bytes
    if (this.#isBusy) this.call.pause()
    this.#answer(partial)
      .then((response) => this.call.write(response.setCorrelationId(correlation), () => this.#written(bytes)))
      .catch((error) => endWith(this.call, error, this.context))
  }

  #written(bytes: number): void {
    this.#writing -= 1
    this.#writingBytes -= bytes
    if (!this.#isBusy) this.call.resume()
    this.#endWhenDone()
  }

  get #isBusy(): boolean {
    return this.#writing >= maxWriting || this.#writingBytes >= maxWritingBytes
  }

  #endWhenDone(): void {
    if (this.#hasEnded && this.#writing === 0) this.call.end()
  }

  async #answer({ options, proposed }: Partial): Promise<BatchAppendResp> {
    const response = new streams.BatchAppendResp()
    const identifier = options.getStreamIdentifier()
    if (identifier) response.setStreamIdentifier(identifier)
    const { store, access } = this.context
    let stream: string
    let wanted: ExpectedOnWire
    try {
      stream = streamName(identifier)
      wanted = expectedOf(options, options.getStreamPosition())
    } catch {
      return response.setError(badRequest('The stream name or the expected revision is not valid.'))
    }
    const deadline = options.getDeadline()
    if (deadline && deadline.toDate().getTime() <= Date.now()) return response.setError(timedOut())
    if (!access.isAllowed(this.user, 'write', stream)) {
      return response.setError(refused(status.PERMISSION_DENIED, 'AccessDenied', new shared.AccessDenied()))
    }
    if (proposed.refusal === 'malformed') {
      return response.setError(badRequest('An event needs an id that is a UUID, and a type.'))
    }
    if (proposed.refusal === 'too_large') {
      const detail = new shared.MaximumAppendSizeExceeded().setMaxappendsize(maxAppendBytes)
      return response.setError(refused(status.INVALID_ARGUMENT, 'MaximumAppendSizeExceeded', detail))
    }
    try {
      const outcome = await store.append(stream, wanted.expected, proposed.events)
      return settle(response, stream, wanted, outcome)
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error
      return response.setError(timedOut()) // whether it was written is not known, as after a time-out
    }
  }
}

function settle(response: BatchAppendResp, stream: string, wanted: ExpectedOnWire, outcome: Outcome): BatchAppendResp {
  switch (outcome.kind) {
    case 'ok': {
      const success = new streams.BatchAppendResp.Success().setCurrentRevision(`${outcome.revision}`)
      if (outcome.position === undefined) success.setNoPosition(googleEmpty())
      else {
        const text = positionText(outcome.position)
        success.setPosition(new shared.AllStreamPosition().setCommitPosition(text).setPreparePosition(text))
      }
      return response.setSuccess(success)
    }
    case 'wrong_revision':
      return response.setError(wrongRevision(wanted, outcome.actual))
    case 'deleted': {
      const detail = new shared.StreamDeleted().setStreamIdentifier(identifierOf(stream))
      return response.setError(refused(status.NOT_FOUND, 'StreamDeleted', detail))
    }
    default:
      return outcome satisfies never
  }
}

/** google.rpc.Status of an append that was refused; the call goes on. */
function refused(code: number, name: string, detail: Message) {
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
  return refused(status.ALREADY_EXISTS, 'WrongExpectedVersion', detail)
}

function badRequest(message: string) {
  return refused(status.INVALID_ARGUMENT, 'BadRequest', new shared.BadRequest().setMessage(message))
}

function timedOut() {
  return refused(status.DEADLINE_EXCEEDED, 'Timeout', new shared.Timeout())
}
