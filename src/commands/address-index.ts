import ipaddr from 'ipaddr.js'

/** Finds whose allow-lists hold an address, in one look-up per prefix length in use; never a walk over all owners. */
export class AddressIndex<Owner> {
  private readonly owners = new Map<string, Set<Owner>>()
  private readonly prefixLengths = new Map<
    string,
    { readonly kind: 'ipv4' | 'ipv6'; readonly bits: number; uses: number }
  >()

  /** `range`: an address or a CIDR range, IPv4 or IPv6. @throws Error when it is neither */
  add(range: string, owner: Owner): void {
    const { key, length } = parseRange(range)
    const owners = this.owners.get(key) ?? new Set()
    if (owners.has(owner)) return
    this.owners.set(key, owners.add(owner))
    const uses = this.prefixLengths.get(length.id)
    if (uses) uses.uses++
    else this.prefixLengths.set(length.id, { kind: length.kind, bits: length.bits, uses: 1 })
  }

  remove(range: string, owner: Owner): void {
    const { key, length } = parseRange(range)
    const owners = this.owners.get(key)
    if (!owners?.delete(owner)) return
    if (owners.size === 0) this.owners.delete(key)
    const uses = this.prefixLengths.get(length.id)
    if (uses && --uses.uses === 0) this.prefixLengths.delete(length.id)
  }

  find(address: string): Set<Owner> {
    const found = new Set<Owner>()
    if (!ipaddr.isValid(address)) return found
    // `::ffff:10.0.0.1` is 10.0.0.1: a dual-stack socket reports IPv4 callers so.
    const parsed = ipaddr.process(address)
    for (const length of this.prefixLengths.values()) {
      if (length.kind !== parsed.kind()) continue
      for (const owner of this.owners.get(keyOf(parsed, length.bits)) ?? []) found.add(owner)
    }
    return found
  }
}

/** Undefined when the text is an address or a CIDR range; otherwise what is wrong with it. */
export function rangeProblem(range: string): string | undefined {
  try {
    parseRange(range)
    return undefined
  } catch {
    return `${range} is not an IP address or CIDR range`
  }
}

function parseRange(range: string) {
  let [address, bits] = range.includes('/') ? ipaddr.parseCIDR(range) : [ipaddr.parse(range), -1]
  if (address.kind() === 'ipv6' && (address as ipaddr.IPv6).isIPv4MappedAddress() && (bits === -1 || bits >= 96)) {
    address = (address as ipaddr.IPv6).toIPv4Address()
    if (bits !== -1) bits -= 96
  }
  const kind = address.kind()
  if (bits === -1) bits = kind === 'ipv4' ? 32 : 128
  return { key: keyOf(address, bits), length: { id: `${kind}/${bits}`, kind, bits } }
}

function keyOf(address: ipaddr.IPv4 | ipaddr.IPv6, bits: number): string {
  const bytes = address.toByteArray()
  const masked = bytes.map((byte, index) => {
    const kept = Math.min(8, Math.max(0, bits - index * 8))
    return byte & (0xff << (8 - kept)) & 0xff
  })
  return `${bits}:${masked.join('.')}`
}
