import ipaddr from 'ipaddr.js'
import { schemeProblem } from '../../domain/merchant/merchant-settings.js'
import { type Violation, violate } from '../../kernel/rules.js'

/** Where callbacks may go. Who registers a URL asks here, and every attempt does again. */

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/** Public by number, but the machine's own cloud behind it: Azure's WireServer hands out credentials. */
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

/** WHATWG URLs have turned 2130706433, 0x7f.1 and 0177.0.0.1 into 127.0.0.1 already. */
export function literalAddress(url: URL): string | undefined {
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname
  return ipaddr.isValid(host) ? host : undefined
}

/** RFC 6761: always loopback, never asked of a name server. */
export function isLocalName(hostname: string): boolean {
  return /^(.+\.)?localhost\.?$/i.test(hostname)
}

/** Public unicast, or loopback for a sandbox merchant. */
export function isCallbackAddress(address: string, sandbox: boolean): boolean {
  if (!ipaddr.isValid(address)) return false
  // `::ffff:10.0.0.1` is 10.0.0.1 to the operating system.
  const parsed = ipaddr.process(address)
  if (sandbox && parsed.range() === 'loopback') return true
  if (parsed.range() !== 'unicast' || parsed.toString() === cloudMetadata) return false
  // ipaddr.js calls everything it has no name for unicast, `::127.0.0.1` for one.
  return parsed.kind() === 'ipv4' || (parsed as ipaddr.IPv6).match(globalUnicast)
}
