import {
  callbackUrlProblem,
  isCallbackAddress,
  isLocalName,
  literalAddress,
} from '../../commands/merchant/callback-url.js'

/** All addresses of a host name, IPv4 and IPv6. @throws when it has none */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>

/** The URL, or an address behind it, is none that callbacks may go to. */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError'
}

/**
 * The addresses to connect to, every one of them checked, and nothing else may be connected to: a name that is resolved
 * again could lead elsewhere by then (DNS rebinding). An IP literal is returned as it is.
 * @throws AddressRefusedError, and whatever `resolve` throws
 */
export async function checkedAddresses(text: string, sandbox: boolean, resolve: ResolveHost): Promise<string[]> {
  const problem = callbackUrlProblem(text, sandbox)
  if (problem) throw new AddressRefusedError(problem)
  const url = new URL(text)
  const literal = literalAddress(url)
  if (literal !== undefined) return [literal]
  const addresses = isLocalName(url.hostname) ? ['127.0.0.1', '::1'] : [...(await resolve(url.hostname))]
  // One bad address among good ones is refused too: which of them is connected to is not ours to say.
  if (addresses.length === 0 || !addresses.every((address) => isCallbackAddress(address, sandbox))) {
    throw new AddressRefusedError('The callback URL leads to an address that is not public.')
  }
  return addresses
}
