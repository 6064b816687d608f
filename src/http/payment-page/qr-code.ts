import { encode } from 'uqr'
import { type Html, html } from '../html.js'

/**
 * Returns a QR code as a picture with a name for screen readers: black on white in every theme, as scanners expect it, with the error
 * correction and the largest version of EPC069-12. Attributes set its colours, because the page's policy forbids inline styles.
 */
export function qrCode(content: string, label: string): Html {
  const { size, data } = encode(content, { ecc: 'M', maxVersion: 13, border: 4 })
  const runs = data.flatMap((row, y) => {
    const text = row.map((isDark) => (isDark ? '1' : '0')).join('')
    return [...text.matchAll(/1+/g)].map(({ 0: { length }, index }) => `M${index} ${y}h${length}v1H${index}z`)
  })
  return html`<svg viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path d="${runs.join('')}"/></svg>`
}
