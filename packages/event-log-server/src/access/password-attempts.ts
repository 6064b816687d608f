/** The number of wrong passwords that an address can try immediately, and the number of further ones per minute. */
const burst = 20
const perMinute = 6
const maxAddresses = 10_000

interface Allowance {
  left: number
  updatedAtMs: number
}

/** Limits the number of wrong passwords per address. */
export class PasswordAttempts {
  readonly #allowances = new Map<string, Allowance>()

  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** Takes an attempt before the password is checked, so that concurrent attempts count too. Returns `false` if none is left. */
  take(address: string): boolean {
    const allowance = this.#allowanceOf(address)
    if (allowance.left < 1) return false
    allowance.left -= 1
    return true
  }

  /** Returns an attempt whose password was correct. */
  refund(address: string): void {
    const allowance = this.#allowanceOf(address)
    allowance.left = Math.min(burst, allowance.left + 1)
  }

  #allowanceOf(address: string): Allowance {
    const nowMs = this.nowMs()
    const known = this.#allowances.get(address)
    if (known) {
      known.left = Math.min(burst, known.left + ((nowMs - known.updatedAtMs) / 60_000) * perMinute)
      known.updatedAtMs = nowMs
      return known
    }
    const created: Allowance = { left: burst, updatedAtMs: nowMs }
    if (this.#allowances.size >= maxAddresses) this.#allowances.delete(this.#allowances.keys().next().value!)
    this.#allowances.set(address, created)
    return created
  }
}

/** Returns the address in a `host:port` of grpc-js. For IPv6, it returns the network of 64 bits. */
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
