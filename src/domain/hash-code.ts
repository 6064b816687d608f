/**
 * A request's hashCode has no delimiter between amount and referenceId, so one hash can stand for two requests. Each hash
 * is written down with the pair it was first seen with, in a stream of its own that only takes one event.
 */
export interface HashCodeSeen {
  readonly type: 'HashCodeSeen'
  readonly data: {
    readonly merchantId: string
    /** The amount as hashed, e.g. `100.50`. */
    readonly amountText: string
    readonly referenceId: string
    readonly at: string
  }
}
