/** Under npm, Ctrl-C reaches the process twice: from the terminal and from npm. */
const sameSignalMs = 500

/** Resolves at the first stop signal. A second signal ends the process immediately. */
export function waitForStopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstAtMs: number | undefined
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (firstAtMs === undefined) firstAtMs = performance.now()
        else if (performance.now() - firstAtMs > sameSignalMs) process.exit(1)
        resolve(signal)
      })
    }
  })
}

let interrupted: AbortController | undefined

/** Returns the process's abort signal for a command that cleans up. The first signal aborts it, and a second one ends the process. */
export function interruptSignal(): AbortSignal {
  if (!interrupted) {
    const controller = new AbortController()
    interrupted = controller
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => controller.abort())
  }
  return interrupted.signal
}
