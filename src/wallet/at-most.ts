/** Runs a call unless `max` are in flight already. @throws what `tooMany` makes, and what the call throws */
export function atMost(max: number, tooMany: () => Error) {
  let inFlight = 0
  return async <Value>(call: () => Promise<Value>): Promise<Value> => {
    if (inFlight >= max) throw tooMany()
    inFlight++
    try {
      return await call()
    } finally {
      inFlight--
    }
  }
}
