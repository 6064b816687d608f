/** The intervals of recording and delivery. Tests pass shorter ones. */
export const defaultCallbackTiming = {
  /** The time limit of an attempt, from resolving the host name to the head of the response. */
  attemptTimeoutMs: 15_000,
  /** The sweep leaves younger events to the subscription, so callbacks that a dead consumer holds wait this long. */
  sweepDelayMs: 5_000,
  /** The pause before the subscription is consumed again. */
  consumeRetryMs: 250,
  /** The pause before an event goes back to the subscription. Redelivery is immediate, so ten retries would park it within milliseconds. */
  recordRetryMs: 1_000,
  /** How often delivery looks for callbacks in memory that have become due. */
  dueCheckMs: 200,
  /** How often delivery searches the read model for callbacks that are not in memory. */
  searchMs: 1_000,
  /** How often delivery stores the latest attempts, which users see. */
  historyMs: 1_000,
  /** How long the reports of attempts wait for each other, to share an append. */
  reportDelayMs: 20,
  /** The first pause before a report is appended again while the log is unavailable. It doubles up to 10 seconds. */
  reportRetryMs: 250,
  /** The pause of a lane after an unexpected error, such as a secret that cannot be opened. It does not count as an attempt. */
  errorPauseMs: 30_000,
}

export type CallbackTiming = Readonly<typeof defaultCallbackTiming>
