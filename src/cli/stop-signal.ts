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
