const intervalMs = 1_000

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
