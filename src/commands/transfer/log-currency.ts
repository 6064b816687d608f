import { type Currency, currencyMismatch } from '../../domain/money.js'
import { currencyStream } from '../../domain/streams.js'
import { encodeEvent } from '../../event-store/event-codec.js'
import type { EventStore } from '../../event-store/event-store.js'
import { readableEvent } from '../../event-store/read-event.js'
import type { Clock } from '../../kernel/time.js'
import { type CommandContext, retryOnConflict } from '../handle-command.js'

/** Another node created the first transfer of the log in a different currency than this one is configured for. */
export class CurrencyMismatchError extends Error {
  override readonly name = 'CurrencyMismatchError'
}

/** Returns why the service cannot use the currency with this log, as the end of a sentence that starts with CURRENCY. @throws StoreUnavailableError */
export async function currencyProblem(store: EventStore, currency: Currency): Promise<string | undefined> {
  const { bound } = await readCurrency(store)
  return bound && currencyMismatch(bound, currency)
}

/** Records the currency before the first transfer of the log. @throws CurrencyMismatchError, StoreUnavailableError, TooMuchContentionError */
export async function bindCurrency(store: EventStore, currency: Currency, at: string, context: CommandContext) {
  await retryOnConflict(currencyStream, async () => {
    const { bound, revision } = await readCurrency(store)
    const problem = bound && currencyMismatch(bound, currency)
    if (problem) throw new CurrencyMismatchError(`CURRENCY ${problem}`)
    if (bound) return
    const data = { currency: currency.code, decimals: currency.decimals, at }
    await store.append(currencyStream, revision, [encodeEvent({ type: 'CurrencyBound', data }, context)])
  })
}

/** Returns a function that calls {@link bindCurrency} until it has succeeded once. */
export function currencyBinder(store: EventStore, currency: Currency, clock: Clock) {
  let binding: Promise<void> | undefined
  return (context: CommandContext): Promise<void> => {
    binding ??= bindCurrency(store, currency, clock(), context).catch((error) => {
      binding = undefined
      throw error
    })
    return binding
  }
}

/** Ignores unreadable events, because one must not prevent a start. */
async function readCurrency(store: EventStore) {
  const recorded = await store.readStream(currencyStream)
  const bound = recorded.map(readableEvent).find((event) => event?.type === 'CurrencyBound')?.data
  return { bound, revision: recorded.at(-1)?.revision ?? ('no_stream' as const) }
}
