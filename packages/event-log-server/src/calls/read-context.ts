import { randomUUID } from 'node:crypto'
import type { ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import type { LogReader, StoredEvent } from '@transferd/event-log/streams'
import type { MatchingBudget } from '../filters/matching-budget.js'
import { streams } from '../wire/generated-protocol.js'
import type { ThrottledWriter } from './throttled-writer.js'

/** The number of events per read, between which other calls get a turn. */
export const pageEvents = 200

/** The context of a read or subscription. */
export interface ReadContext {
  readonly reader: LogReader
  readonly writer: ThrottledWriter<ReadResp | Buffer>
  readonly signal: AbortSignal
  /** The matching budget of the connection. */
  readonly matching: MatchingBudget
  /** Sends an event. Returns `false` if the caller must wait for {@link ThrottledWriter.drained}. */
  readonly send: (event: StoredEvent) => boolean
}

export function confirmation(): ReadResp {
  const confirmed = new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId(randomUUID())
  return new streams.ReadResp().setConfirmation(confirmed)
}

export function caughtUp(): ReadResp {
  return new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp())
}

export function fellBehind(): ReadResp {
  return new streams.ReadResp().setFellBehind(new streams.ReadResp.FellBehind())
}
