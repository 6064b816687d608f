import { type Currency, currencyMismatch } from '../../domain/money.js'
import { currencyStream } from '../../domain/streams.js'
import { encodeEvent } from '../../event-store/event-codec.js'
import type { EventStore } from '../../event-store/event-store.js'
import { readableEvent } from '../../event-store/read-event.js'
import { type CommandContext, retryOnConflict } from '../handle-command.js'

/**
 * Records the currency in a log that has none, before anything else uses the log. Returns why the service cannot use the currency with
 * this log, as the end of a sentence that starts with CURRENCY. @throws StoreUnavailableError, TooMuchContentionError
 */
export function bindCurrency(
  store: EventStore,
  currency: Currency,
  at: string,
  context: CommandContext,
): Promise<string | undefined> {
  return retryOnConflict(currencyStream, async () => {
    const recorded = await store.readStream(currencyStream)
    // An unreadable event is ignored, because one must not prevent a start.
    const bound = recorded.map(readableEvent).find((event) => event?.type === 'CurrencyBound')?.data
    if (bound) return currencyMismatch(bound, currency)
    const data = { currency: currency.code, decimals: currency.decimals, at }
    const revision = recorded.at(-1)?.revision ?? 'no_stream'
    await store.append(currencyStream, revision, [encodeEvent({ type: 'CurrencyBound', data }, context)])
    return undefined
  })
}
