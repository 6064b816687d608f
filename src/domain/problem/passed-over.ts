/** A person decided that an event which cannot be read is passed over: from then on it is as if it were not there. */
export interface EventPassedOver {
  readonly type: 'EventPassedOver'
  readonly data: {
    readonly stream: string
    readonly revision: number
    /** The event's own: another one in its place (a log that was put back) is not meant. */
    readonly eventId: string
    /** As the event names it, and why it cannot be read; nothing of its data. */
    readonly eventType: string
    readonly problem: string
    readonly reason: string
    /** ISO 8601. */
    readonly at: string
  }
}
