/** The intervals of recording and delivery. Tests pass shorter ones. */
export interface CallbackTiming {
  /** The time limit of an attempt, from resolving the host name to the head of the response. */
  readonly attemptTimeoutMs: number
  /** The sweep leaves younger events to the subscription, so callbacks that a dead consumer holds wait this long. */
  readonly sweepDelayMs: number
  /** The pause before the subscription is consumed again. */
  readonly consumeRetryMs: number
  /** The pause before an event goes back to the subscription. Redelivery is immediate, so ten retries would park it within milliseconds. */
  readonly recordRetryMs: number
  /** How often delivery looks for callbacks in memory that have become due. */
  readonly dueCheckMs: number
  /** How often delivery searches the read model for callbacks that are not in memory. */
  readonly searchMs: number
  /** How long the reports of attempts wait for each other, to share an append. */
  readonly reportDelayMs: number
  /** The first pause before a report is appended again while the log is unavailable. It doubles up to 10 seconds. */
  readonly reportRetryMs: number
  /** The pause of a lane after an unexpected error, such as a secret that cannot be opened. It does not count as an attempt. */
  readonly errorPauseMs: number
}

export const defaultCallbackTiming: CallbackTiming = {
  attemptTimeoutMs: 15_000,
  sweepDelayMs: 5_000,
  consumeRetryMs: 250,
  recordRetryMs: 1_000,
  dueCheckMs: 200,
  searchMs: 1_000,
  reportDelayMs: 20,
  reportRetryMs: 250,
  errorPauseMs: 30_000,
}
