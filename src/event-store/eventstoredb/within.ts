import { StoreUnavailableError } from '../event-store.js'

/** Nobody answered in time. Whether what was asked for was done is not known. */
export class DeadlineError extends StoreUnavailableError {}

/** The promise, or a {@link DeadlineError} when it takes longer. The promise may still be rejected later: nobody hears of it. */
export function within<Value>(deadlineMs: number, what: string, promise: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DeadlineError(`${what}: no answer within ${deadlineMs} ms`)), deadlineMs)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
