import ipaddr from 'ipaddr.js'

type Bucket = { tokens: number; filledAtMs: number }

/** Token buckets by key in bounded memory: beyond `maxKeys`, the oldest bucket is dropped, and its key starts with a full one. */
export class TokenBuckets {
  readonly #buckets = new Map<string, Bucket>()

  constructor(
    /** A monotonic clock. */
    private readonly nowMs: () => number,
    private readonly maxKeys: number,
  ) {}

  /** Takes `tokens`, at most `burst`. Returns 0 on success, otherwise the whole seconds until enough tokens are available. */
  take(key: string, perSecond: number, burst: number, tokens = 1): number {
    const now = this.nowMs()
    let bucket = this.#buckets.get(key)
    if (bucket === undefined) {
      bucket = { tokens: burst, filledAtMs: now }
      if (this.#buckets.size >= this.maxKeys) this.#buckets.delete(this.#buckets.keys().next().value!)
      this.#buckets.set(key, bucket)
    }
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.filledAtMs) / 1000) * perSecond)
    bucket.filledAtMs = now
    if (bucket.tokens < tokens) return Math.ceil((tokens - bucket.tokens) / perSecond)
    bucket.tokens -= tokens
    return 0
  }

  /** Charges a cost that was unknown before. The tokens can become negative, so that the next {@link take} waits for longer. */
  spend(key: string, tokens: number): void {
    const bucket = this.#buckets.get(key)
    if (bucket) bucket.tokens -= tokens
  }
}

/** Returns the key that an address is counted under. IPv6 callers share one per /64, because a host can choose among 2^64 addresses. */
export function bucketOf(address: string): string {
  if (!ipaddr.isValid(address)) return 'unknown'
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv4' ? parsed.toString() : (parsed as ipaddr.IPv6).parts.slice(0, 4).join(':')
}
