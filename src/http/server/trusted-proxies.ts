import fp from 'fastify-plugin'
import { AddressIndex, isAddress } from '../../commands/merchant/addresses.js'
import { RequestError } from '../refusals.js'

/** The proxies whose X-Forwarded-For is trusted. */
export class TrustedProxies {
  readonly #ranges = new AddressIndex<'trusted'>()

  constructor(ranges: readonly string[]) {
    for (const range of ranges) this.#ranges.add(range, 'trusted')
  }

  /** Returns `false` for text that is not an address. It then counts as the caller, which {@link knownCallers} rejects. */
  includes(address: string): boolean {
    return isAddress(address) && this.#ranges.holds(address, 'trusted')
  }
}

/**
 * Rejects a request if a trusted proxy's X-Forwarded-For does not contain an address: the caller is then unknown, and
 * the proxy's own address could pass an allow-list. The part of the header before the caller was written by the caller
 * and is ignored.
 */
export const knownCallers = fp(
  async (app) => {
    app.addHook('onRequest', ({ ip, socket }, _reply, done) => {
      if (ip === socket.remoteAddress || isAddress(ip)) return done()
      const details = 'X-Forwarded-For does not name the caller by an IP address.'
      done(new RequestError('malformed-request', { details }))
    })
  },
  { name: 'known-callers' },
)
