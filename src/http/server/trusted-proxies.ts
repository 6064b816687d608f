import fp from 'fastify-plugin'
import { AddressIndex, isAddress } from '../../commands/merchant/address-index.js'
import { RequestError } from '../refusals.js'

/** The proxies whose X-Forwarded-For is believed. */
export class TrustedProxies {
  readonly #ranges = new AddressIndex<'trusted'>()

  constructor(ranges: readonly string[]) {
    for (const range of ranges) this.#ranges.add(range, 'trusted')
  }

  /** False for what is not an address: it is then the caller as far as anybody knows, and {@link knownCallers} refuses it. */
  includes(address: string): boolean {
    return isAddress(address) && this.#ranges.holds(address, 'trusted')
  }
}

/**
 * Refuses a request whose X-Forwarded-For, set by a trusted proxy, names something else than an address: nobody knows then who
 * calls, and taking the proxy for the caller would let its address pass an allow-list. What precedes the caller in the header
 * was written by the caller and is not looked at.
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
