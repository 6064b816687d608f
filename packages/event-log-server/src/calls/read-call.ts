import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import type { handleServerStreamingCall, ServerWritableStream } from '@grpc/grpc-js'
import type { Direction } from '@transferd/event-log/streams'
import { matcherOf, parseFilter } from '../filters/event-filter.js'
import { streamDeleted, unexpectedError } from '../wire/call-error.js'
import { encodeEvent } from '../wire/event-encoder.js'
import { streams } from '../wire/generated-protocol.js'
import { resolve } from '../wire/resolved-event.js'
import { isMaxUint64, parsePosition, parseRevision, parseStream, streamIdentifier } from '../wire/wire-values.js'
import { required, type ServerContext, streaming } from './call-handlers.js'
import { pageEvents, type ReadContext } from './read-context.js'
import { subscribeToAll } from './subscribe-to-all.js'
import { subscribeToStream } from './subscribe-to-stream.js'
import { ThrottledWriter } from './throttled-writer.js'

/** Handles `Streams.Read`: reads and subscriptions of a stream and of the whole log. */
export function readCall(context: ServerContext): handleServerStreamingCall<ReadReq, ReadResp> {
  return streaming(context, (call, signal) => read(context, call, signal))
}

async function read(
  context: ServerContext,
  call: ServerWritableStream<ReadReq, ReadResp>,
  signal: AbortSignal,
): Promise<void> {
  const { store, access } = context
  const options = required(call.request.getOptions())
  const user = await access.authenticate(call)
  const structuredIds = options.getUuidOption()?.hasStructured() ?? false
  const followLinks = options.getResolveLinks()
  const { reader } = store
  const writer = new ThrottledWriter<ReadResp | Buffer>(call, signal)
  const canFollow = (stream: string) => access.canFollowLink(user, stream)
  const reading: ReadContext = {
    reader,
    writer,
    signal,
    matching: context.matching.ofPeer(call.getPeer()),
    send: (event) => {
      const response = encodeEvent(followLinks ? resolve(event, reader, canFollow) : { event }, structuredIds)
      return writer.write(response, response.length)
    },
  }
  const ofStream = options.getStream()
  if (ofStream !== undefined) {
    const stream = parseStream(ofStream.getStreamIdentifier())
    access.requireRight(user, 'read', stream)
    if (options.hasSubscription()) await subscribeToStream(store, reading, stream, ofStream)
    else await readStream(reading, stream, ofStream, options)
    return
  }
  const ofAll = required(options.getAll())
  access.requireRight(user, 'read', '$all')
  if (options.hasSubscription()) await subscribeToAll(context, reading, ofAll, options.getFilter())
  else await readAll(reading, ofAll, options)
}

function directionOf(options: ReadReq.Options): Direction {
  return options.getReadDirection() === streams.ReadReq.Options.ReadDirection.BACKWARDS ? 'backwards' : 'forwards'
}

async function readStream(
  { reader, writer, send }: ReadContext,
  stream: string,
  from: ReadReq.Options.StreamOptions,
  options: ReadReq.Options,
): Promise<void> {
  const direction = directionOf(options)
  const maxCount = Number(options.getCount())
  let next = startRevision(from, direction)
  if (maxCount === 0) throw unexpectedError()
  const view = reader.view(stream)
  if (view.isTombstoned) throw streamDeleted(stream)
  if (view.isMissing) {
    const notFound = new streams.ReadResp.StreamNotFound().setStreamIdentifier(streamIdentifier(stream))
    writer.write(new streams.ReadResp().setStreamNotFound(notFound))
    return
  }
  let count = 0
  while (count < maxCount && next >= 0) {
    const events = reader.streamPage(view, direction, next, Math.min(pageEvents, maxCount - count))
    for (const event of events) if (!send(event) && !(await writer.drained())) return
    const last = events.at(-1)
    if (last === undefined) break
    count += events.length
    next = last.revision + (direction === 'forwards' ? 1 : -1)
  }
  if ((options.getControlOption()?.getCompatibility() ?? 0) < 1) return
  if (count === 0) writer.write(new streams.ReadResp().setFirstStreamPosition(`${view.current + 1}`))
  writer.write(new streams.ReadResp().setLastStreamPosition(`${view.current}`))
}

/** Returns the first revision to read. Reading forwards from the end is an error, as in EventStoreDB. */
function startRevision(from: ReadReq.Options.StreamOptions, direction: Direction): number {
  if (from.hasStart()) return 0
  const isEnd = from.hasEnd() || isMaxUint64(from.getRevision())
  if (!isEnd) return parseRevision(from.getRevision())
  if (direction === 'forwards') throw unexpectedError()
  return Number.MAX_SAFE_INTEGER - 1
}

async function readAll(
  { reader, writer, send, signal, matching }: ReadContext,
  from: ReadReq.Options.AllOptions,
  options: ReadReq.Options,
): Promise<void> {
  const direction = directionOf(options)
  const maxCount = Number(options.getCount())
  const filter = parseFilter(options.getFilter())
  const matcher = filter && matcherOf(filter, matching)
  let next = startPosition(from, direction, reader.lastPosition())
  let count = 0
  while (count < maxCount && next >= 1) {
    const events = reader.allPage(direction, next, pageEvents)
    const matches = await matcher?.(events)
    for (const [i, event] of events.entries()) {
      if (matches?.[i] === false) continue
      if (!send(event) && !(await writer.drained())) return
      count += 1
      if (count === maxCount) return
    }
    const last = events.at(-1)
    if (last === undefined) return
    next = last.position + (direction === 'forwards' ? 1 : -1)
    if (matcher !== undefined) await new Promise(setImmediate) // give other calls a turn even if no event matched
    if (signal.aborted) return
  }
}

/** Returns the first position to read, or 0 for none. A requested position is inclusive forwards and exclusive backwards. */
function startPosition(from: ReadReq.Options.AllOptions, direction: Direction, last: number): number {
  const isForwards = direction === 'forwards'
  if (from.hasStart()) return isForwards ? 1 : 0
  const position = from.getPosition()
  const requested =
    position === undefined ? 'end' : parsePosition(position.getCommitPosition(), position.getPreparePosition(), last)
  switch (requested) {
    case 'start':
      return isForwards ? 1 : 0
    case 'end':
      return isForwards ? 0 : last
    case 'after_end':
      if (isForwards) return 0
      throw unexpectedError()
    case 'invalid':
      throw unexpectedError()
    default: {
      if (isForwards) return requested
      // A position without its prepare half is also before the event that ends there.
      const hasPrepare = BigInt(position?.getPreparePosition() ?? 0) !== 0n
      return hasPrepare ? requested - 1 : requested - 2
    }
  }
}
