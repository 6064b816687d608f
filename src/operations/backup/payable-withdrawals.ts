import { openEventLog } from '@transferd/event-log'
import { currencyStream, streamPrefix } from '../../domain/streams.js'
import { isTerminal } from '../../domain/transfer/status.js'
import { evolve, initialState, type Withdrawal } from '../../domain/transfer/transfer.js'
import type { TransferEvent } from '../../domain/transfer/transfer-events.js'
import { sealedField, UnreadableEventError, withErasedFields } from '../../event-store/event-codec.js'
import { damagedType, logPages, type RecordedEvent } from '../../event-store/event-store.js'
import { evolved, readableEvent, readEvent, skipEvents } from '../../event-store/read-event.js'

/**
 * Reads the withdrawals of an embedded log that can still be paid, oldest first, without the master key: personal data stays encrypted and
 * the codes of events are not checked. Only unfinished withdrawals are in memory. `currency` is that of the log, or `undefined` if it
 * records none. `unreadable` are streams with an unreadable event.
 */
export async function payableWithdrawals(directory: string) {
  const log = await openEventLog({ directory, writerThread: false })
  const open = new Map<string, Withdrawal>()
  const unreadable = new Set<string>()
  let currency: string | undefined
  try {
    const bound = (await log.readStream(currencyStream)).map(readableEvent)
    currency = bound.find((event) => event?.type === 'CurrencyBound')?.data.currency
    for await (const { events } of logPages(skipEvents(log), { streamPrefixes: [streamPrefix.transfer] })) {
      for (const recorded of events) {
        if (unreadable.has(recorded.stream)) continue
        try {
          fold(open, recorded)
        } catch (error) {
          if (!(error instanceof UnreadableEventError)) throw error
          open.delete(recorded.stream)
          unreadable.add(recorded.stream)
        }
      }
    }
  } finally {
    await log.close()
  }
  return { currency, withdrawals: [...open.values()], unreadable: [...unreadable] }
}

/** @throws UnreadableEventError */
function fold(open: Map<string, Withdrawal>, recorded: RecordedEvent): void {
  const { type, stream } = recorded
  if (type !== 'WithdrawalCreated' && type !== damagedType && !open.has(stream)) return
  const event = readEvent(withoutPersonalData(recorded)) as TransferEvent | undefined
  if (!event) return
  const state = evolved(evolve, open.get(stream) ?? initialState, recorded, event)
  if (state.kind === 'withdrawal' && !isTerminal(state.status)) open.set(stream, state)
  else open.delete(stream)
}

/** Returns the event as if the customer had been erased. */
function withoutPersonalData(recorded: RecordedEvent): RecordedEvent {
  const { [sealedField]: sealed, ...data } = recorded.data
  if (sealed === undefined) return recorded
  return { ...recorded, data: withErasedFields({ ...recorded, data }) }
}
