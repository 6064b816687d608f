/** A terminal's Ctrl-C reaches the process twice under npm, which passes on what the terminal sends to all. */
const sameSignalMs = 500

/** The first signal; a second one, when the first was seen for itself, ends the process at once. */
export function askedToStop(): Promise<NodeJS.Signals> {
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

/** Aborts at the first signal, for a command that then tidies up; the second one ends the process. A process has only this one. */
export function interruption(): AbortSignal {
  if (!interrupted) {
    const controller = new AbortController()
    interrupted = controller
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => controller.abort())
  }
  return interrupted.signal
}
