import type { DeviceConfirmation } from '../../commands/wallet/payments.js'
import type { Currency } from '../../domain/currency.js'
import { html } from './html.js'
import { fill, formatMoney, type Language, languages } from './language.js'
import { notice, page } from './layout.js'

/** The page behind the button of the e-mail: it asks, and only its own button confirms. A form, so that it needs no script. */
export function devicePage(
  confirmation: DeviceConfirmation | undefined,
  language: Language,
  currency: Currency,
): string {
  const texts = languages[language]
  const parts = { language, assetsAt: '../pay/assets', self: '' }
  if (!confirmation) return notice(parts, texts.confirmUnknownHeading, texts.confirmUnknownText)
  const { merchantName: merchant, amountMinor, state } = confirmation
  switch (state) {
    case 'confirmed':
      return notice(parts, texts.confirmUsedHeading, texts.confirmUsedText)
    case 'expired':
      return notice(parts, texts.confirmExpiredHeading, texts.confirmExpiredText)
    case 'open': {
      const amount = formatMoney(language, currency, amountMinor)
      const body = html`<main class="card"><h1>${fill(texts.confirmHeading, { merchant })}</h1>
<p>${fill(texts.confirmText, { merchant })}</p><p><strong>${fill(texts.confirmAmount, { amount })}</strong></p>
<form method="post" action="?lang=${language}"><button type="submit">${texts.confirmSubmit}</button></form>
<p class="aside">${texts.confirmOtherwise}</p></main>`
      return page({ ...parts, title: texts.confirmTitle, body })
    }
    default:
      return state satisfies never
  }
}

export function confirmedPage(language: Language): string {
  const { confirmedHeading, confirmedText } = languages[language]
  return notice({ language, assetsAt: '../pay/assets', self: '' }, confirmedHeading, confirmedText)
}
