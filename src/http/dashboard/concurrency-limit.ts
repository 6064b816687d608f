import { KeyedLimit } from '../../kernel/keyed-limit.js'
import { violate } from '../../kernel/rules.js'
import { RequestError } from '../refusals.js'

/** Limits the concurrent operations per user in this process. A further operation is rejected with RequestError. */
export function limitPerUser(most: number): KeyedLimit {
  return new KeyedLimit({ concurrency: most, maxWaiting: 0 }, () => {
    const violation = violate('too-many-open', { most })
    return new RequestError('too-many-requests', { violation, retryAfterSeconds: 5 })
  })
}
