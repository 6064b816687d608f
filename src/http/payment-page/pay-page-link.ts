import { timingSafeEqual } from 'node:crypto'
import type { SecretBox } from '../../security/secret-box.js'

export interface PayPageLinkOptions {
  readonly secretBox: Pick<SecretBox, 'mac'>
  /** The URL that customers' browsers use, without a trailing slash. */
  readonly publicUrl: string
}

/** 132 bits: a trackingId alone, which callbacks and logs carry, opens no page. */
const macLength = 22

export function payPageUrl({ secretBox, publicUrl }: PayPageLinkOptions, trackingId: string): string {
  return `${publicUrl}/pay/${trackingId}.${macOf(secretBox, trackingId)}`
}

/** The trackingId of a link's last part; undefined when the link was not made here. */
export function trackingIdOfLink({ secretBox }: PayPageLinkOptions, link: string): string | undefined {
  const [, trackingId, mac] = /^([0-9a-f-]{36})\.([A-Za-z0-9_-]{22})$/.exec(link) ?? []
  if (!trackingId || !mac) return undefined
  return timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(secretBox, trackingId))) ? trackingId : undefined
}

function macOf(secretBox: PayPageLinkOptions['secretBox'], trackingId: string): string {
  return secretBox.mac('pay', trackingId).slice(0, macLength)
}
