import ipaddr from 'ipaddr.js'
import { violate } from '../../domain/decider.js'
import type { Violation } from '../../domain/rules.js'

const maxKnownAddresses = 10_000
/** IPv4 in four decimal parts, or IPv6 in hexadecimal groups whose last two can be such four parts. A range has a prefix length. */
const canonicalForm =
  /^(?:[0-9a-fA-F:]*:)?(?:(?:(?:0|[1-9]\d{0,2})\.){3}(?:0|[1-9]\d{0,2})|(?<=:)[0-9a-fA-F]{0,4})(?:\/(?:0|[1-9]\d{0,2}))?$/

/** Finds the owners whose allow-lists contain an address, with one lookup per prefix length in use and no loop over all owners. */
export class AddressIndex<Owner> {
  private readonly owners = new Map<string, Set<Owner>>()
  private readonly prefixLengths = new Map<
    string,
    { readonly kind: 'ipv4' | 'ipv6'; readonly bits: number; uses: number }
  >()
  /** The keys of addresses that were looked up earlier: parsing an address takes longer than the rest of the lookup. */
  private readonly keys = new Map<string, readonly string[]>()

  add(range: string, owner: Owner): void {
    const { key, length } = parseRange(range)
    const owners = this.owners.get(key) ?? new Set()
    if (owners.has(owner)) return
    this.owners.set(key, owners.add(owner))
    const uses = this.prefixLengths.get(length.id)
    if (uses) uses.uses++
    else {
      this.prefixLengths.set(length.id, { kind: length.kind, bits: length.bits, uses: 1 })
      this.keys.clear()
    }
  }

  /** Removes a range. Two ranges that cover the same addresses count as one. */
  remove(range: string, owner: Owner): void {
    const { key, length } = parseRange(range)
    const owners = this.owners.get(key)
    if (!owners?.delete(owner)) return
    if (owners.size === 0) this.owners.delete(key)
    const uses = this.prefixLengths.get(length.id)
    if (uses && --uses.uses === 0) {
      this.prefixLengths.delete(length.id)
      this.keys.clear()
    }
  }

  find(address: string): Set<Owner> {
    const found = new Set<Owner>()
    for (const key of this.keysOf(address)) {
      for (const owner of this.owners.get(key) ?? []) found.add(owner)
    }
    return found
  }

  /** Returns the same as `find(address).has(owner)` without collecting the other owners of a range that many share. */
  holds(address: string, owner: Owner): boolean {
    return this.keysOf(address).some((key) => this.owners.get(key)?.has(owner))
  }

  /** Returns the keys of the ranges that could contain the address, one for each prefix length in use. */
  private keysOf(address: string): readonly string[] {
    const known = this.keys.get(address)
    if (known) return known
    let keys: readonly string[] = []
    if (isAddress(address)) {
      // A dual-stack socket reports the IPv4 caller 10.0.0.1 as `::ffff:10.0.0.1`.
      const parsed = ipaddr.process(address)
      const lengths = [...this.prefixLengths.values()].filter((length) => length.kind === parsed.kind())
      keys = lengths.map((length) => keyOf(parsed, length.bits))
    }
    if (this.keys.size >= maxKnownAddresses) this.keys.clear()
    this.keys.set(address, keys)
    return keys
  }
}

export function isAddress(text: string): boolean {
  return canonicalForm.test(text) && !text.includes('/') && ipaddr.isValid(text)
}

/** Returns whether the ranges together cover over a sixteenth of all IPv4 or IPv6 addresses, which no network of proxies does. */
export function areRangesTooWide(ranges: readonly string[]): boolean {
  const sizes = { ipv4: 32n, ipv6: 128n }
  return (['ipv4', 'ipv6'] as const).some((kind) => {
    const spans = ranges
      .map(parseRange)
      .filter(({ length }) => length.kind === kind)
      .map(({ bytes, length }) => {
        const first = bytes.reduce((number, byte) => (number << 8n) | BigInt(byte), 0n)
        return { first, end: first + (1n << (sizes[kind] - BigInt(length.bits))) }
      })
      .sort((a, b) => (a.first < b.first ? -1 : 1))
    let covered = 0n
    let reached = 0n
    for (const { first, end } of spans) {
      const from = first > reached ? first : reached
      if (end > from) covered += end - from
      if (end > reached) reached = end
    }
    return covered > 1n << (sizes[kind] - 4n)
  })
}

export function rangeProblem(range: string): Violation | undefined {
  try {
    parseRange(range)
    return undefined
  } catch {
    return violate('ip-range-invalid', { range: JSON.stringify(range.slice(0, 64)) })
  }
}

function parseRange(range: string) {
  // ipaddr.js also accepts the notations of old C libraries: 010.0.0.1 for 8.0.0.1, 10.1 for 10.0.0.1, 2130706433 for 127.0.0.1.
  if (!canonicalForm.test(range)) throw new Error('not an address or a range')
  let [address, bits] = range.includes('/') ? ipaddr.parseCIDR(range) : [ipaddr.parse(range), -1]
  if (address.kind() === 'ipv6' && (address as ipaddr.IPv6).isIPv4MappedAddress() && (bits === -1 || bits >= 96)) {
    address = (address as ipaddr.IPv6).toIPv4Address()
    if (bits !== -1) bits -= 96
  }
  const kind = address.kind()
  if (bits === -1) bits = kind === 'ipv4' ? 32 : 128
  return { key: keyOf(address, bits), bytes: maskedBytes(address, bits), length: { id: `${kind}/${bits}`, kind, bits } }
}

function keyOf(address: ipaddr.IPv4 | ipaddr.IPv6, bits: number): string {
  return `${bits}:${maskedBytes(address, bits).join('.')}`
}

function maskedBytes(address: ipaddr.IPv4 | ipaddr.IPv6, bits: number): number[] {
  return address.toByteArray().map((byte, index) => {
    const kept = Math.min(8, Math.max(0, bits - index * 8))
    return byte & (0xff << (8 - kept)) & 0xff
  })
}
