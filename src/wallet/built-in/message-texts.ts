import { type Currency, formatWithCode } from '../../domain/money.js'
import type { Email, Sms } from '../messages.js'
import type { DescribedPayment } from '../wallet.js'

/** Returns the SMS in English and Turkish, because an account has no language. Letters outside ASCII would halve an SMS's capacity. */
export function codeSms(
  to: string,
  code: string,
  { merchantName, amountMinor }: DescribedPayment,
  currency: Currency,
): Sms {
  const what = `${inSms(merchantName)}, ${formatWithCode(currency, amountMinor)}`
  const text = `${code}: ${what}. Your payment code. Do not share it. / Odeme kodunuz, kimseyle paylasmayin.`
  return { to, code, text }
}

/** The space that the rest of the text leaves in one SMS. */
const maxSmsNameLength = 40

/** ASCII replacements for letters that have no decomposition in Unicode. */
const plain: Record<string, string> = { ı: 'i', ø: 'o', Ø: 'O', ß: 'ss', æ: 'ae', Æ: 'AE', ł: 'l', Ł: 'L' }

/** Returns the name in ASCII. A name without any ASCII letter or digit keeps its letters, which makes the SMS longer. */
function inSms(name: string): string {
  const marked = name.normalize('NFKD').replace(/\p{M}/gu, '')
  const ascii = marked.replace(/[^\x20-\x7e]/g, (letter) => plain[letter] ?? ' ')
  const short = (/[a-z0-9]/i.test(ascii) ? ascii : name.replace(/\p{C}/gu, ' ')).replace(/\s+/g, ' ').trim()
  return short.slice(0, maxSmsNameLength).trimEnd()
}

const maxNameLength = 64

export function deviceEmail(
  to: string,
  link: string,
  { merchantName, amountMinor }: DescribedPayment,
  currency: Currency,
  installationName: string,
): Email {
  const amount = formatWithCode(currency, amountMinor)
  const name = merchantName.replace(/\p{Cc}/gu, ' ').slice(0, maxNameLength)
  const english = [
    `Someone is trying to pay ${amount} to ${name} from your wallet on a new device.`,
    'If this is you, confirm the device. If not, ignore this email, and no money is taken.',
  ]
  const turkish = [
    `Cüzdanınızdan, daha önce kullanılmamış bir cihazla ${name} için ${amount} ödenmek isteniyor.`,
    'Bu sizseniz cihazı onaylayın. Değilseniz hiçbir şey yapmayın: para çekilmez.',
  ]
  const text = [...english, '', link, '', ...turkish, '', link, ''].join('\n')
  const subject = `Confirm a new device / Yeni cihazı onaylayın · ${installationName}`
  return { to, link, subject, text, html: html(link, subject, english, turkish) }
}

function html(link: string, subject: string, english: readonly string[], turkish: readonly string[]): string {
  const part = (language: string, lines: readonly string[], button: string) => `<div lang="${language}">
${lines.map((line) => `<p>${escaped(line)}</p>`).join('\n')}
<p><a href="${escaped(link)}" style="${buttonStyle}">${button}</a></p>
</div>`
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escaped(subject)}</title></head>
<body style="font-family: sans-serif; line-height: 1.5">
${part('en', english, 'Confirm the device')}
<hr>
${part('tr', turkish, 'Cihazı onayla')}
</body>
</html>
`
}

const buttonStyle =
  'display: inline-block; padding: 12px 24px; background: #0b5cad; color: #ffffff; text-decoration: none; border-radius: 4px'

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Escapes text for HTML, because a merchant's name can contain any characters. */
const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character]!)
