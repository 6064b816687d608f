import { randomUUID } from 'node:crypto'
import type { ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import type { LogReader, StoredEvent } from '@transferd/event-log/streams'
import type { MatchingBudget } from '../filters/matching-budget.js'
import { streams } from '../wire/generated-protocol.js'
import type { Outlet } from './call-handlers.js'

/** Events read at a time, so that other calls have their turn. */
export const pageEvents = 200

/** What all kinds of reads and subscriptions have in common. */
export interface Reading {
  readonly reader: LogReader
  readonly outlet: Outlet<ReadResp>
  readonly signal: AbortSignal
  /** Of the connection. */
  readonly matching: MatchingBudget
  /** Sends an event. False when {@link Outlet.drained} must be waited for. */
  readonly send: (event: StoredEvent) => boolean
}

export function confirmation(): ReadResp {
  const confirmed = new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId(randomUUID())
  return new streams.ReadResp().setConfirmation(confirmed)
}

export function caughtUp(): ReadResp {
  return new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp())
}
