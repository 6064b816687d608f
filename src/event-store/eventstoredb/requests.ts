import type { ReadReq } from '@eventstore/db-client/generated/streams_pb.js'
import type { Direction, Position } from '../event-store.js'
import { shared, streams } from './generated.js'
import type { StreamFilter } from './stream-filter.js'

const { Options } = streams.ReadReq
const forwards = 0
const backwards = 1

/** The number of events that the server filters at a time. */
const searchWindow = 500
/** The number of these windows between two checkpoints. */
const windowsPerCheckpoint = 20

const empty = () => new shared.Empty()

export function identifierOf(stream: string) {
  return new shared.StreamIdentifier().setStreamName(Buffer.from(stream))
}

/** Reads from a revision, inclusive, or from the start of the direction. */
export function readStreamRequest(
  stream: string,
  direction: Direction,
  fromRevision: number | undefined,
  maxCount: number,
): ReadReq {
  const source = new Options.StreamOptions().setStreamIdentifier(identifierOf(stream))
  if (fromRevision !== undefined) source.setRevision(`${fromRevision}`)
  else if (direction === 'forwards') source.setStart(empty())
  else source.setEnd(empty())
  const options = plain()
    .setStream(source)
    .setReadDirection(direction === 'forwards' ? forwards : backwards)
  return request(options.setCount(`${maxCount}`).setNoFilter(empty()))
}

/** Reads the last event of all streams. */
export function lastEventRequest(): ReadReq {
  const source = new Options.AllOptions().setEnd(empty())
  return request(plain().setAll(source).setReadDirection(backwards).setCount('1').setNoFilter(empty()))
}

/** Subscribes to all events after a position. */
export function subscribeRequest(after: Position | undefined, filter: StreamFilter): ReadReq {
  const source = new Options.AllOptions()
  if (after === undefined) source.setStart(empty())
  else source.setPosition(toWire(after))
  const options = plain().setAll(source).setReadDirection(forwards)
  options.setSubscription(new Options.SubscriptionOptions())
  const { wire } = filter
  if (wire === undefined) return request(options.setNoFilter(empty()))
  const expression = new Options.FilterOptions.Expression()
  if ('regex' in wire) expression.setRegex(wire.regex)
  else expression.setPrefixList([...wire.prefixes])
  const wanted = new Options.FilterOptions().setStreamIdentifier(expression).setMax(searchWindow)
  return request(options.setFilter(wanted.setCheckpointintervalmultiplier(windowsPerCheckpoint)))
}

function plain() {
  return new Options().setResolveLinks(false).setUuidOption(new Options.UUIDOption().setString(empty()))
}

function request(options: ReadReq.Options): ReadReq {
  return new streams.ReadReq().setOptions(options)
}

function toWire({ commit, prepare }: Position) {
  return new Options.Position().setCommitPosition(`${commit}`).setPreparePosition(`${prepare}`)
}
