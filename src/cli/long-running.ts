const intervalMs = 1_000
const stopSignals = ['SIGTERM', 'SIGINT'] as const
/** Under npm, Ctrl-C reaches the process twice: from the terminal and from npm. */
const sameSignalMs = 500

/** Returns a reporter that prints `format` of the latest progress, at most once per second. */
export function progressReporter<Progress extends unknown[]>(
  print: (line: string) => void,
  format: (...progress: Progress) => string,
): (...progress: Progress) => void {
  let printedAtMs = performance.now()
  return (...progress) => {
    if (performance.now() - printedAtMs < intervalMs) return
    printedAtMs = performance.now()
    print(format(...progress))
  }
}

/** Returns the percentage of the log up to a position. */
export function percentOf(at: { readonly commit: bigint }, end: { readonly commit: bigint }): number {
  return Number((at.commit * 100n) / end.commit)
}

/** Resolves at the first stop signal. A second signal ends the process immediately. */
export function waitForStopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstAtMs: number | undefined
    for (const signal of stopSignals) {
      process.on(signal, () => {
        if (firstAtMs === undefined) firstAtMs = performance.now()
        else if (performance.now() - firstAtMs > sameSignalMs) process.exit(1)
        resolve(signal)
      })
    }
  })
}

/** Returns {@link interruptSignal} for a command that prints until the signal. It aborts also when the reader closes the pipe (`| head`). */
export function printingSignal(): AbortSignal {
  const closed = new AbortController()
  process.stdout.once('error', () => closed.abort())
  return AbortSignal.any([interruptSignal(), closed.signal])
}

let interrupted: AbortController | undefined

/** Returns the process's abort signal for a command that cleans up. The first signal aborts it, and a second one ends the process. */
export function interruptSignal(): AbortSignal {
  if (!interrupted) {
    const controller = new AbortController()
    interrupted = controller
    for (const signal of stopSignals) process.once(signal, () => controller.abort())
  }
  return interrupted.signal
}
