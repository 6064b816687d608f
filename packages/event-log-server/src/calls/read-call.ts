import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import type { handleServerStreamingCall, ServerWritableStream } from '@grpc/grpc-js'
import type { Direction } from '@transferd/event-log/streams'
import { filterSpecOf, matcherOf } from '../filters/event-filter.js'
import { streamDeleted, unforeseen } from '../wire/call-error.js'
import { readResponse, resolve } from '../wire/event-messages.js'
import { streams } from '../wire/generated-protocol.js'
import { identifierOf, isMaxUint64, placeOf, revisionOf, streamName } from '../wire/wire-values.js'
import { given, Outlet, type ServerContext, streaming } from './call-handlers.js'
import { pageEvents, type Reading } from './read-output.js'
import { subscribeToAll } from './subscribe-to-all.js'
import { subscribeToStream } from './subscribe-to-stream.js'

/** `Streams.Read`: reads and subscriptions of a stream and of the whole log. */
export function readCall(context: ServerContext): handleServerStreamingCall<ReadReq, ReadResp> {
  return streaming(context, (call, signal) => read(context, call, signal))
}

async function read(
  context: ServerContext,
  call: ServerWritableStream<ReadReq, ReadResp>,
  signal: AbortSignal,
): Promise<void> {
  const { store, access } = context
  const options = given(call.request.getOptions())
  const user = await access.caller(call)
  const structuredIds = options.getUuidOption()?.hasStructured() ?? false
  const followLinks = options.getResolveLinks()
  const { reader } = store
  const outlet = new Outlet(call, signal)
  const mayFollow = (stream: string) => access.mayFollow(user, stream)
  const reading: Reading = {
    reader,
    outlet,
    signal,
    matching: context.matching.ofPeer(call.getPeer()),
    send: (event) => {
      const response = readResponse(followLinks ? resolve(event, reader, mayFollow) : { event }, structuredIds)
      return outlet.write(response, event.data.length + event.metadata.length)
    },
  }
  const ofStream = options.getStream()
  if (ofStream !== undefined) {
    const stream = streamName(ofStream.getStreamIdentifier())
    access.mayUse(user, 'read', stream)
    if (options.hasSubscription()) await subscribeToStream(store, reading, stream, ofStream)
    else await readStream(reading, stream, ofStream, options)
    return
  }
  const ofAll = options.getAll()
  if (ofAll === undefined) throw unforeseen()
  access.mayUse(user, 'read', '$all')
  if (options.hasSubscription()) await subscribeToAll(store, reading, ofAll, options.getFilter())
  else await readAll(reading, ofAll, options)
}

function directionOf(options: ReadReq.Options): Direction {
  return options.getReadDirection() === streams.ReadReq.Options.ReadDirection.BACKWARDS ? 'backwards' : 'forwards'
}

async function readStream(
  { reader, outlet, send }: Reading,
  stream: string,
  from: ReadReq.Options.StreamOptions,
  options: ReadReq.Options,
): Promise<void> {
  const direction = directionOf(options)
  const maxCount = Number(options.getCount())
  const start = startRevision(from, direction)
  if (maxCount === 0) throw unforeseen()
  const view = reader.view(stream)
  if (view.isTombstoned) throw streamDeleted(stream)
  if (view.isMissing) {
    const notFound = new streams.ReadResp.StreamNotFound().setStreamIdentifier(identifierOf(stream))
    outlet.write(new streams.ReadResp().setStreamNotFound(notFound))
    return
  }
  let count = 0
  let at = start
  while (count < maxCount && at >= 0) {
    const events = reader.streamPage(view, direction, at, Math.min(pageEvents, maxCount - count))
    for (const event of events) if (!send(event) && !(await outlet.drained())) return
    const last = events.at(-1)
    if (last === undefined) break
    count += events.length
    at = last.revision + (direction === 'forwards' ? 1 : -1)
  }
  if ((options.getControlOption()?.getCompatibility() ?? 0) < 1) return
  if (count === 0) outlet.write(new streams.ReadResp().setFirstStreamPosition(`${view.current + 1}`))
  outlet.write(new streams.ReadResp().setLastStreamPosition(`${view.current}`))
}

/** Forwards there is nothing to read from the end, which the real server takes for a mistake. */
function startRevision(from: ReadReq.Options.StreamOptions, direction: Direction): number {
  if (from.hasStart()) return 0
  const isEnd = from.hasEnd() || isMaxUint64(from.getRevision())
  if (!isEnd) return revisionOf(from.getRevision())
  if (direction === 'forwards') throw unforeseen()
  return Number.MAX_SAFE_INTEGER - 1
}

async function readAll(
  { reader, outlet, send, signal, matching }: Reading,
  from: ReadReq.Options.AllOptions,
  options: ReadReq.Options,
): Promise<void> {
  const direction = directionOf(options)
  const maxCount = Number(options.getCount())
  const spec = filterSpecOf(options.getFilter())
  const matches = spec && matcherOf(spec, matching)
  let at = startPosition(from, direction, reader.lastPosition())
  let count = 0
  while (count < maxCount && at >= 1) {
    const events = reader.allPage(direction, at, pageEvents)
    const wanted = await matches?.(events)
    for (const [i, event] of events.entries()) {
      if (wanted?.[i] === false) continue
      if (!send(event) && !(await outlet.drained())) return
      count += 1
      if (count === maxCount) return
    }
    const last = events.at(-1)
    if (last === undefined) return
    at = last.position + (direction === 'forwards' ? 1 : -1)
    if (matches !== undefined) await new Promise(setImmediate) // nothing may have been written: others have their turn
    if (signal.aborted) return
  }
}

/** Forwards a position is included, backwards it is not. 0: there is nothing to read. */
function startPosition(from: ReadReq.Options.AllOptions, direction: Direction, last: number): number {
  const position = from.getPosition()
  const place = from.hasStart()
    ? 'start'
    : position === undefined
      ? 'end'
      : placeOf(position.getCommitPosition(), position.getPreparePosition(), last)
  if (place === 'none') throw unforeseen()
  const forwards = direction === 'forwards'
  switch (place) {
    case 'start':
      return forwards ? 1 : 0
    case 'end':
      return forwards ? 0 : last
    case 'beyond':
      if (forwards) return 0
      throw unforeseen()
    default:
      if (forwards) return place
      // Without its prepare half a position lies before the event that ends there as well.
      return isHalf(position) ? place - 2 : place - 1
  }
}

function isHalf(position: ReadReq.Options.Position | undefined): boolean {
  return position !== undefined && BigInt(position.getPreparePosition()) === 0n
}
