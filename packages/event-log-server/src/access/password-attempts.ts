/** Wrong passwords of one address that are answered at once; then so many a minute. */
const burst = 20
const perMinute = 6
const maxAddresses = 10_000

interface Allowance {
  left: number
  atMs: number
}

/** Bounds how many passwords an address may try. */
export class Guesses {
  readonly #allowances = new Map<string, Allowance>()

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** Before a password is looked at, so that guesses under way at the same time count as well. False: none is left. */
  take(address: string): boolean {
    const allowance = this.#allowanceOf(address)
    if (allowance.left < 1) return false
    allowance.left -= 1
    return true
  }

  /** It was right. */
  giveBack(address: string): void {
    const allowance = this.#allowanceOf(address)
    allowance.left = Math.min(burst, allowance.left + 1)
  }

  #allowanceOf(address: string): Allowance {
    const nowMs = this.nowMs()
    const known = this.#allowances.get(address)
    if (known) {
      known.left = Math.min(burst, known.left + ((nowMs - known.atMs) / 60_000) * perMinute)
      known.atMs = nowMs
      return known
    }
    const made: Allowance = { left: burst, atMs: nowMs }
    if (this.#allowances.size >= maxAddresses) this.#allowances.delete(this.#allowances.keys().next().value!)
    this.#allowances.set(address, made)
    return made
  }
}

/** Where a caller's connection comes from, as `host:port` of grpc-js tells it: an IPv6 network of 64 bits counts as one. */
export function addressOf(peer: string): string {
  const address = peer.slice(0, peer.lastIndexOf(':')).replace(/^\[|\]$/g, '')
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!address.includes(':')) return address
  const [head = '', tail] = address.replace(/%.*$/, '').split('::')
  const groups = head === '' ? [] : head.split(':')
  const last = tail === undefined || tail === '' ? [] : tail.split(':')
  const filled = tail === undefined ? groups : [...groups, ...Array(8 - groups.length - last.length).fill('0'), ...last]
  return filled.slice(0, 4).join(':')
}
