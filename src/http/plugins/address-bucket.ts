import ipaddr from 'ipaddr.js'

/** What an address is counted under: IPv6 callers by their /64, as a host has 2^64 addresses to choose from. */
export function bucketOf(address: string): string {
  if (!ipaddr.isValid(address)) return 'unknown'
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv4' ? parsed.toString() : (parsed as ipaddr.IPv6).parts.slice(0, 4).join(':')
}
