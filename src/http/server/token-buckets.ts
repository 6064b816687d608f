import ipaddr from 'ipaddr.js'

interface Bucket {
  tokens: number
  filledAtMs: number
}

/** Token buckets by key, in bounded memory: beyond `maxKeys` the oldest one is forgotten, and starts full. */
export class TokenBuckets {
  readonly #buckets = new Map<string, Bucket>()

  constructor(
    /** Monotonic. */
    private readonly nowMs: () => number,
    private readonly maxKeys: number,
  ) {}

  /** Takes `tokens`, at most `burst`. 0 when there were as many, otherwise the whole seconds until there are. */
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
}

/** What an address is counted under: IPv6 callers by their /64, as a host has 2^64 addresses to choose from. */
export function bucketOf(address: string): string {
  if (!ipaddr.isValid(address)) return 'unknown'
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv4' ? parsed.toString() : (parsed as ipaddr.IPv6).parts.slice(0, 4).join(':')
}
