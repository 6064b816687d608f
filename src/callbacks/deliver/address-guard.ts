import {
  callbackUrlProblem,
  isCallbackAddress,
  isLocalName,
  literalAddress,
} from '../../commands/merchant/addresses.js'

/** Returns all IPv4 and IPv6 addresses of a host name. @throws if it has none */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>

/** Callbacks must not be sent to the URL, or to an address that its host name resolves to. */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError'
}

/**
 * Returns the checked addresses of a callback URL. Connect to these only: a name that is resolved again may lead elsewhere by then (DNS
 * rebinding). @throws AddressRefusedError, and the errors of `resolve`
 */
export async function checkedAddresses(text: string, sandbox: boolean, resolve: ResolveHost): Promise<string[]> {
  const problem = callbackUrlProblem(text, sandbox)
  if (problem) throw new AddressRefusedError(problem.rule)
  const url = new URL(text)
  const literal = literalAddress(url)
  if (literal !== undefined) return [literal]
  const addresses = isLocalName(url.hostname) ? ['127.0.0.1', '::1'] : [...(await resolve(url.hostname))]
  // A single bad address refuses the name, because the connection may use any of its addresses.
  if (addresses.length === 0 || !addresses.every((address) => isCallbackAddress(address, sandbox))) {
    throw new AddressRefusedError('The callback URL leads to an address that is not public.')
  }
  return addresses
}
