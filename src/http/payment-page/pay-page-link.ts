import { timingSafeEqual } from 'node:crypto'
import type { HttpDependencies } from '../dependencies.js'

/** 132 bits: a trackingId alone, which callbacks and logs carry, opens no page. */
const macLength = 22

export function payPageUrl(deps: Pick<HttpDependencies, 'publicUrl' | 'secretBox'>, trackingId: string): string {
  return `${deps.publicUrl}/pay/${trackingId}.${macOf(deps, trackingId)}`
}

/** The trackingId of a link's last part; undefined when the link was not made here. */
export function trackingIdOfLink(deps: Pick<HttpDependencies, 'secretBox'>, link: string): string | undefined {
  const [, trackingId, mac] = /^([0-9a-f-]{36})\.([A-Za-z0-9_-]{22})$/.exec(link) ?? []
  if (!trackingId || !mac) return undefined
  return timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(deps, trackingId))) ? trackingId : undefined
}

function macOf({ secretBox }: Pick<HttpDependencies, 'secretBox'>, trackingId: string): string {
  return secretBox.mac('pay', trackingId).slice(0, macLength)
}
