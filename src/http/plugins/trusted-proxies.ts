import { AddressIndex, isAddress } from '../../commands/address-index.js'
import type { App } from '../app.js'
import { failures, RequestError } from '../errors.js'

/** The proxies whose X-Forwarded-For is believed. */
export class TrustedProxies {
  private readonly ranges = new AddressIndex<'trusted'>()

  constructor(ranges: readonly string[]) {
    for (const range of ranges) this.ranges.add(range, 'trusted')
  }

  /** False for what is no address: it is then the caller as far as anybody knows, and {@link refuseUnknownCallers} refuses it. */
  holds(address: string): boolean {
    return isAddress(address) && this.ranges.holds(address, 'trusted')
  }
}

/**
 * A trusted proxy that names something else than an address leaves it unknown who calls. To take the proxy for the caller would
 * let its address pass an allow-list; so the request is refused. What stands before the caller in the header is the caller's own,
 * and nobody looks at it.
 */
export function refuseUnknownCallers(app: App): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { ip, socket } = request
    const isKnown = ip === socket.remoteAddress || isAddress(ip)
    if (isKnown) return done()
    const details = 'X-Forwarded-For does not name the caller by an IP address.'
    done(new RequestError(failures.malformedRequest, { details }))
  })
}
