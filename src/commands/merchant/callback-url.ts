import ipaddr from 'ipaddr.js'
import { schemeProblem } from '../../domain/merchant/merchant-settings.js'
import { type Violation, violate } from '../../kernel/rules.js'

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/** Azure's WireServer: a public address that leads to the machine's own cloud and returns credentials. */
const cloudMetadata = '168.63.129.16'

const maxUrlLength = 2_048

/**
 * Returns the rule that a callback URL violates, or `undefined`. It checks the text only: every attempt resolves the name and checks its
 * addresses.
 */
export function callbackUrlProblem(text: string, sandbox: boolean): Violation | undefined {
  if (text.length > maxUrlLength) return violate('too-long', { most: maxUrlLength })
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url) return violate('url-invalid')
  const problem = schemeProblem(url, sandbox)
  if (problem) return problem
  if (url.username || url.password) return violate('url-with-credentials')
  const literal = literalAddress(url)
  if (literal !== undefined ? !isCallbackAddress(literal, sandbox) : isLocalName(url.hostname) && !sandbox) {
    return violate('url-not-public')
  }
  return undefined
}

/** Returns the URL's host if it is an address. `URL` has already normalized 2130706433, 0x7f.1 and 0177.0.0.1 to 127.0.0.1. */
export function literalAddress(url: URL): string | undefined {
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname
  return ipaddr.isValid(host) ? host : undefined
}

/** Returns whether the name is loopback by RFC 6761, so that no name server is queried. */
export function isLocalName(hostname: string): boolean {
  return /^(.+\.)?localhost\.?$/i.test(hostname)
}

/** Returns whether callbacks may go to the address: public unicast, or loopback for a sandbox merchant. */
export function isCallbackAddress(address: string, sandbox: boolean): boolean {
  if (!ipaddr.isValid(address)) return false
  // The operating system connects to 10.0.0.1 for `::ffff:10.0.0.1`.
  const parsed = ipaddr.process(address)
  if (sandbox && parsed.range() === 'loopback') return true
  if (parsed.range() !== 'unicast' || parsed.toString() === cloudMetadata) return false
  // ipaddr.js classifies every range that it does not know as unicast, for example `::127.0.0.1`.
  return parsed.kind() === 'ipv4' || (parsed as ipaddr.IPv6).match(globalUnicast)
}
