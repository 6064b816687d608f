import { timingSafeEqual } from 'node:crypto'
import type { HttpServices } from '../services.js'

/** 132 bits: a trackingId alone, which callbacks and logs contain, does not open a page. */
const macLength = 22

export function payPageUrl({ secretBox, publicUrl }: HttpServices, trackingId: string): string {
  return `${publicUrl}/pay/${trackingId}.${macOf(secretBox, trackingId)}`
}

/** Returns the trackingId in the last part of a link, or `undefined` for a link that the service did not create. */
export function trackingIdOfLink({ secretBox }: HttpServices, link: string): string | undefined {
  const [, trackingId, mac] = /^([0-9a-f-]{36})\.([A-Za-z0-9_-]{22})$/.exec(link) ?? []
  if (!trackingId || !mac) return undefined
  return timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(secretBox, trackingId))) ? trackingId : undefined
}

function macOf(secretBox: HttpServices['secretBox'], trackingId: string): string {
  return secretBox.mac('pay', trackingId).slice(0, macLength)
}
