import type { ReceivingAccount } from '../../domain/payment-method.js'
import { testCustomer } from '../../wallet/test-customer.js'
import { dataBlock, type Html, html } from '../html.js'
import { logoVersion } from '../merchant-logo.js'
import {
  dueMinor,
  type FoundDeposit,
  type PageState,
  type Phase,
  pageState,
  returnAddress,
  scannedTransfer,
} from './deposit-view.js'
import { fill, formatMoney, type Language, languages, scriptKeys, type Texts } from './page-language.js'
import { framingOrigins, notice, page } from './page-layout.js'
import { qrCode } from './qr-code.js'

interface Parts {
  readonly language: Language
  readonly texts: Texts
  /** Returns a text with values in place of its placeholders. */
  readonly say: (key: keyof Texts, more?: { readonly [name: string]: string }) => string
  readonly referenceId: string
  readonly back: string | undefined
  /** The part that has arrived; null without one. */
  readonly received: string | null
  /** The amount that is still to be paid. */
  readonly due: string
  readonly manual: FoundDeposit['manual']
  /** The content of the QR code for a banking app. */
  readonly scanned: string | undefined
  readonly isSandbox: boolean
}

/** Returns the page at the `url` of a hosted create. Without its script it still shows the state and what to do. */
export function paymentPage(
  found: FoundDeposit,
  { link, installationName }: { readonly link: string; readonly installationName: string },
  language: Language,
  now: string,
): string {
  const { deposit, settings, manual, logoSha256 } = found
  const state = pageState(found, language, now)
  const { phase } = state
  // An old link shows nothing about the deposit.
  if (phase === 'ended') return notice({ language, installationName, assetsAt: 'assets', self: link }, 'ended')
  const texts = languages[language]
  const amount = formatMoney(language, found.currency, deposit.amountMinor)
  const values = { merchant: settings.name, amount, reference: deposit.referenceId }
  const say: Parts['say'] = (key, more) => fill(texts[key], { ...values, ...more })
  const parts = {
    language,
    texts,
    say,
    referenceId: deposit.referenceId,
    back: returnAddress(found),
    received: state.received,
    due: formatMoney(language, found.currency, dueMinor(deposit)),
    manual,
    scanned: scannedTransfer(found),
    isSandbox: settings.sandbox,
  }
  const until = fill(texts.payUntil, { time: `${untilText(language, deposit.expiresAt, state)} UTC` })
  const logoAt = logoSha256 === null ? undefined : `${link}/logo?v=${logoVersion(logoSha256)}`
  const logo = logoAt && html`<img class="logo" src="${logoAt}" alt="">`
  const body = html`<div class="card">
<header>${logo}<h1>${say('title')}</h1>${settings.sandbox ? html`<p class="sandbox">${texts.sandbox}</p>` : undefined}
<dl><div class="amount"><dt>${texts.amount}</dt><dd>${amount}</dd></div>
<div id="time"${phase === 'open' ? undefined : html` hidden`}><dt>${texts.timeLeft}</dt><dd><span id="clock" role="timer" aria-live="off">${timeLeft(language, state)}</span> <span id="until">${until}</span></dd></div></dl></header>
<main id="step">${phase === 'open' ? opened(parts) : result(phase, state, parts)}</main>
<div id="announcer" class="unseen" role="status"></div>
${manual ? undefined : html`<footer><p>${say('privacy')}</p></footer>`}</div>
${phase === 'open' && !manual ? steps(parts) : undefined}${resultTemplates(parts)}
${dataBlock('page-data', {
  link,
  language,
  installationName,
  trackingId: deposit.trackingId,
  referenceId: deposit.referenceId,
  isManual: manual !== undefined,
  expiresAt: deposit.expiresAt,
  framing: framingOrigins(settings),
  state,
  // The script replaces the remaining placeholders.
  texts: Object.fromEntries(scriptKeys.map((key) => [key, say(key)])),
})}`
  return page({ language, title: say('title'), installationName, assetsAt: 'assets', self: link, body, script: true })
}

const daySeconds = 86_400

function timeLeft(language: Language, { secondsLeft }: PageState): string {
  const [unit, unitSeconds] = secondsLeft > daySeconds ? (['day', daySeconds] as const) : (['minute', 60] as const)
  const format = new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' })
  return format.format(Math.ceil(secondsLeft / unitSeconds))
}

/** Returns the time of day, with the day if it is not the next one. */
function untilText(language: Language, expiresAt: string, { secondsLeft }: PageState): string {
  if (secondsLeft <= daySeconds) return expiresAt.slice(11, 16)
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })
  return format.format(new Date(expiresAt))
}

/** Returns the part that is shown until the script shows a step. A manual payment needs no script. */
function opened(parts: Parts): Html {
  const { language, texts, say, referenceId, received, due: amount, manual, scanned } = parts
  if (!manual) {
    return html`<noscript><p>${texts.noScript}</p><p><a class="button" href="">${texts.reload}</a></p></noscript>`
  }
  const { methodNames, instructions, account } = manual
  const ask = account ? texts.manualAccount : say('manualAsk', { amount })
  return html`<p class="eyebrow">${methodNames[language]}</p><h2 tabindex="-1">${texts.manualHeading}</h2>
${instructions === undefined ? html`<p>${ask}</p>` : html`<p class="instructions">${instructions}</p>`}
<dl class="give">${account && accountRows(texts, account)}<div><dt>${texts.reference}</dt><dd>${referenceId}</dd></div></dl>${received === null ? undefined : html`<p id="received">${say('partReceived', { received })}</p>`}<p>${say('manualReference', { amount })}</p>
${scanned === undefined ? undefined : html`<figure class="scan">${qrCode(scanned, texts.scanLabel)}<figcaption>${texts.scanText}</figcaption></figure>`}
<p class="waiting"><span class="pulse" aria-hidden="true"></span>${say('manualWaiting')}</p><p class="aside">${say('manualLater')}</p>`
}

function accountRows(texts: Texts, { name, iban, bic }: ReceivingAccount): Html {
  const row = (term: string, value: string) => html`<div><dt>${term}</dt><dd>${value}</dd></div>`
  // The gaps are those of ISO 13616 on paper.
  const groups = iban.replaceAll(/.{4}(?=.)/g, '$& ')
  return html`${row(texts.accountHolder, name)}${row(texts.iban, groups)}${bic === undefined ? undefined : row(texts.bic, bic)}`
}

/** Returns the steps that the script shows one at a time. It adds only errors. */
function steps({ texts, say, isSandbox }: Parts): Html {
  const failure = html`<div class="failure" role="alert"></div>`
  const customer = isSandbox ? html`<p class="aside">${say('sandboxCustomer', testCustomer)}</p>` : undefined
  return html`<template id="step-login"><form novalidate><p class="eyebrow">${texts.loginStep}</p><h2 tabindex="-1">${texts.loginHeading}</h2>${customer}${failure}
${field('email', texts.email, undefined, html`type="email" inputmode="email" autocomplete="username" autocapitalize="none" spellcheck="false"`)}
${field('password', texts.password, texts.passwordHint, html`type="password" inputmode="numeric" autocomplete="current-password"`)}
<label class="check"><input type="checkbox" name="show"> ${texts.showPassword}</label>
<button type="submit">${texts.loginSubmit}</button></form></template>
<template id="step-code"><form novalidate><p class="eyebrow">${texts.codeStep}</p><h2 tabindex="-1">${texts.codeHeading}</h2><p>${say('codeHelp')}</p>${customer}${failure}
${field('code', texts.code, texts.codeHint, html`type="text" inputmode="numeric" autocomplete="one-time-code" spellcheck="false"`)}
<button type="submit">${say('codeSubmit')}</button></form>
<p class="aside">${texts.noCode}</p><button type="button" class="quiet" data-go="login">${texts.logInAgain}</button></template>
<template id="step-device"><form novalidate><p class="eyebrow">${texts.deviceStep}</p><h2 tabindex="-1">${texts.deviceHeading}</h2><p>${texts.deviceHelp}</p>${failure}
<p class="waiting"><span class="pulse" aria-hidden="true"></span>${texts.deviceWaiting}</p>
<button type="submit">${texts.deviceCheck}</button></form><button type="button" class="quiet" data-go="login">${texts.logInAgain}</button></template>
`
}

function field(name: string, label: string, hint: string | undefined, attributes: Html): Html {
  const described = hint ? `${name}-hint ${name}-error` : `${name}-error`
  return html`<div class="field"><label for="${name}">${label}</label>${hint ? html`<p class="hint" id="${name}-hint">${hint}</p>` : undefined}
<input id="${name}" name="${name}" required aria-describedby="${described}" ${attributes}><p class="error" id="${name}-error"></p></div>`
}

type Over = Exclude<Phase, 'open' | 'ended'>
const over: readonly Over[] = ['paid', 'checking', 'cancelled', 'failed', 'expired']

function resultTemplates(parts: Parts): Html {
  const unknown = { paid: null, paidAt: null, accountDigits: null, hasAmountMismatch: true, receiptUrl: null }
  return html`${over.map((phase) => html`<template id="step-${phase}">${result(phase, unknown, parts)}</template>`)}`
}

type Particulars = Pick<PageState, 'paid' | 'paidAt' | 'accountDigits' | 'hasAmountMismatch' | 'receiptUrl'>

/** Returns the outcome and the next step. In a template, the script replaces `paid`. */
function result(phase: Over, particulars: Particulars, parts: Parts): Html {
  const { texts, say, referenceId, back, manual } = parts
  const heading = html`<div class="mark ${phase}" aria-hidden="true"></div><h2 tabindex="-1">${texts[`${phase}Heading`]}</h2>`
  const way = back
    ? html`<p><a class="button" href="${back}" target="_top" rel="noopener">${say('back')}</a></p>`
    : phase === 'checking'
      ? undefined
      : html`<p class="aside">${texts.closePage}</p>`
  switch (phase) {
    case 'paid':
      return html`${heading}<p id="paid">${say('paidText', particulars.paid === null ? {} : { paid: particulars.paid })}</p>
<p id="mismatch"${particulars.hasAmountMismatch ? undefined : html` hidden`}>${say('paidMismatch')}</p>
${paidDetails(particulars, parts)}
<p id="receipt"${particulars.receiptUrl ? undefined : html` hidden`}><a href="${particulars.receiptUrl ?? ''}" target="_blank" rel="noopener noreferrer">${texts.receipt}</a></p>${way}`
    case 'checking':
      return html`${heading}<p>${say('checkingText')}</p><p class="aside">${texts.reference}: ${referenceId}</p>${way}`
    case 'cancelled':
    case 'failed':
    case 'expired':
      return html`${heading}<p>${say(`${phase}Text`)}</p><p>${say(manual ? 'moneySent' : 'moneyTaken')}</p>${way}`
    default:
      return phase satisfies never
  }
}

/** Returns the time in UTC. The script shows it in the customer's time zone. */
function paidDetails({ paidAt, accountDigits }: Particulars, { texts, say, referenceId, language }: Parts): Html {
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
  const time = html`<time id="paid-at" datetime="${paidAt ?? ''}">${paidAt === null ? '' : `${format.format(new Date(paidAt))} UTC`}</time>`
  const account = accountDigits === null ? '' : say('accountEnding', { digits: accountDigits })
  return html`<dl class="details"><div><dt>${texts.reference}</dt><dd>${referenceId}</dd></div>
<div><dt>${texts.paidAt}</dt><dd>${time}</dd></div>
<div id="account"${account ? undefined : html` hidden`}><dt>${texts.account}</dt><dd>${account}</dd></div></dl>`
}
