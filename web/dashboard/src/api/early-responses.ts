/** Older responses are fetched again, because a page may be opened long after the application was loaded. */
const maxAgeMs = 15_000

const early = new Map<string, Promise<Response | undefined>>()

/** Keeps the response to a request that was sent before the application was loaded. */
export function keepEarly(address: string, response: Promise<Response | undefined>): void {
  early.set(
    address,
    response.catch(() => undefined),
  )
  setTimeout(() => early.delete(address), maxAgeMs)
}

/** Returns the kept response, once. */
export async function takeEarly(address: string): Promise<Response | undefined> {
  const response = early.get(address)
  early.delete(address)
  return response
}
