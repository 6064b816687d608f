import { isVisible } from '../kernel/text.js'
import { invalid } from './refusals.js'

interface Words {
  readonly receiptUrl?: string | undefined
  readonly message?: string | undefined
  readonly reason?: string | undefined
}

/** What people type about a transfer, and merchants are told. @throws RequestError */
export function checkWords({ receiptUrl, ...texts }: Words): void {
  for (const [name, text] of Object.entries(texts)) {
    if (text === undefined) continue
    if (text.trim() === '') throw invalid(name, 'blank')
    if (!text.split('\n').every(isVisible)) throw invalid(name, 'hidden-characters')
  }
  if (receiptUrl !== undefined && !isWebAddress(receiptUrl)) throw invalid('receiptUrl', 'url-not-http')
}

function isWebAddress(text: string): boolean {
  return isVisible(text) && URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}
