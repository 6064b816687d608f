import { setTimeout as sleep } from 'node:timers/promises'
import ipaddr from 'ipaddr.js'
import { violate } from '../../domain/decider.js'
import { type EndpointWarning, schemeProblem } from '../../domain/merchant/merchant-settings.js'
import type { Violation } from '../../domain/rules.js'
import { AddressIndex } from './addresses.js'
import { isInSandbox, type MerchantDirectory } from './merchant-directory.js'

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * The addresses at which clouds give credentials to the programs of a machine, besides link-local ones: AWS (machines, and pods of EKS),
 * Google, Oracle and Scaleway over IPv6; Azure, Alibaba and Oracle's first cloud over IPv4.
 */
const cloudMetadata: ReadonlySet<string> = new Set([
  ...['fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254', 'fd00:c1::a9fe:a9fe', 'fd00:42::42'],
  ...['168.63.129.16', '100.100.100.200', '192.0.0.192'],
])
const maxUrlLength = 2_048
const maxLookupMs = 2_000

/** Returns all IPv4 and IPv6 addresses of a host name. @throws if it has none */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>

/** Callbacks must not be sent to the URL, or to an address that its host name resolves to. */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError'
}

/**
 * Decides which addresses callbacks may go to: public ones, the networks that the operator has named, and loopback for sandbox merchants
 * while the installation is a sandbox. On a live installation, loopback would let a user of the dashboard send requests to other programs
 * of the machine and read their responses.
 */
export class CallbackNetworks {
  readonly #named = new AddressIndex<true>()

  /**
   * @param ranges the networks of CALLBACK_ALLOWED_NETWORKS
   * @param isSandbox whether the sandbox is on and no live merchant exists
   */
  constructor(
    ranges: readonly string[],
    private readonly isSandbox: () => boolean,
  ) {
    for (const range of ranges) this.#named.add(range, true)
  }

  /** Returns whether a merchant's callbacks may go to loopback, which ends when a live merchant exists. */
  allowsLoopback(sandbox: boolean): boolean {
    return sandbox && this.isSandbox()
  }

  allows(address: string, sandbox: boolean): boolean {
    if (!ipaddr.isValid(address)) return false
    // The operating system connects to 10.0.0.1 for `::ffff:10.0.0.1`.
    const parsed = ipaddr.process(address)
    // No endpoint of a merchant is link-local, where most clouds give credentials.
    if (parsed.range() === 'linkLocal' || cloudMetadata.has(parsed.toString())) return false
    if (this.#named.holds(parsed.toString(), true)) return true
    if (parsed.range() === 'loopback') return this.allowsLoopback(sandbox)
    // ipaddr.js classifies every range that it does not know as unicast, for example `::127.0.0.1`.
    return parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || (parsed as ipaddr.IPv6).match(globalUnicast))
  }

  /** Returns the rule that the text of a callback URL violates. Every attempt checks the addresses of its name too. */
  urlProblem(text: string, sandbox: boolean): Violation | undefined {
    if (text.length > maxUrlLength) return violate('too-long', { most: maxUrlLength })
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (!url || text.trim() !== text) return violate('url-invalid')
    const problem = schemeProblem(url, sandbox)
    if (problem) return problem
    if (url.username || url.password) return violate('url-with-credentials')
    const known = knownAddresses(url)
    return known && !known.some((address) => this.allows(address, sandbox)) ? violate('url-not-allowed') : undefined
  }

  /**
   * Returns the checked addresses of a callback URL. Connect to these only: a name that is resolved again may lead elsewhere by then (DNS
   * rebinding). @throws AddressRefusedError, and the errors of `resolve`
   */
  async checkedAddresses(text: string, sandbox: boolean, resolve: ResolveHost): Promise<readonly string[]> {
    const problem = this.urlProblem(text, sandbox)
    if (problem) throw new AddressRefusedError(problem.rule)
    const url = new URL(text)
    const addresses = this.#allowedOf(url, knownAddresses(url) ?? (await resolve(url.hostname)), sandbox)
    if (addresses.length === 0)
      throw new AddressRefusedError('The callback URL leads to an address that callbacks must not go to.')
    return addresses
  }

  /** Returns what happens to callbacks to a URL, as far as that is known without a name server, or `undefined` if they are sent. */
  warningOf(text: string, sandbox: boolean): EndpointWarning | undefined {
    if (this.urlProblem(text, sandbox)) return 'refused'
    const url = new URL(text)
    const known = knownAddresses(url)
    return known && this.#allowedOf(url, known, false).length === 0 ? 'refused-once-live' : undefined
  }

  /** Returns what happens to callbacks to a URL that was just set. Resolves its name, within two seconds. */
  async checkedWarningOf(text: string, sandbox: boolean, resolve: ResolveHost): Promise<EndpointWarning | undefined> {
    const limit = new AbortController()
    const late = sleep(maxLookupMs, undefined, { ref: false, signal: limit.signal }).catch(() => undefined)
    try {
      const addresses = await Promise.race([this.checkedAddresses(text, sandbox, resolve), late])
      if (!addresses) return 'unresolved'
      return this.#allowedOf(new URL(text), addresses, false).length === 0 ? 'refused-once-live' : undefined
    } catch (error) {
      return error instanceof AddressRefusedError ? 'refused' : 'unresolved'
    } finally {
      limit.abort()
    }
  }

  /** Returns the addresses of a URL that callbacks may go to. */
  #allowedOf(url: URL, addresses: readonly string[], sandbox: boolean): readonly string[] {
    const allowed = addresses.filter((address) => this.allows(address, sandbox))
    // A single refused address refuses a name of a name server, because its owner can let it lead anywhere.
    return knownAddresses(url) || allowed.length === addresses.length ? allowed : []
  }
}

/** Returns the addresses that callbacks may go to, which depend on whether the installation is a sandbox at that moment. */
export function callbackNetworks(
  configuration: { readonly sandbox: 'auto' | 'off'; readonly callbackAllowedNetworks: readonly string[] },
  known: Pick<MerchantDirectory, 'isSandbox'>,
): CallbackNetworks {
  return new CallbackNetworks(configuration.callbackAllowedNetworks, () => isInSandbox(configuration, known))
}

/** Returns the addresses of a URL's host if no name server knows them: an address, or a name that is loopback by RFC 6761. */
function knownAddresses(url: URL): readonly string[] | undefined {
  // `URL` has already normalized 2130706433, 0x7f.1 and 0177.0.0.1 to 127.0.0.1.
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname
  if (ipaddr.isValid(host)) return [host]
  return /^(.+\.)?localhost\.?$/i.test(host) ? ['127.0.0.1', '::1'] : undefined
}
