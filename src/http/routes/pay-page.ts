import { createHash } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import { formatTwoDecimals } from '../../domain/money.js'
import type { Status, Transfer } from '../../domain/transfer/transfer.js'
import type { App } from '../app.js'
import type { HttpDependencies } from '../dependencies.js'
import { failures, RequestError } from '../errors.js'
import { trackingIdOfLink } from '../pay-page-link.js'
import type { FailWith } from '../plugins/failing.js'
import type { Gate } from '../plugins/gate.js'

const style =
  'body{font:1.125rem/1.5 system-ui,sans-serif;max-width:32rem;margin:3rem auto;padding:0 1rem;color:#111;background:#fff}dt{font-weight:600}dd{margin:0 0 1rem}'
const styleHash = createHash('sha256').update(style).digest('base64')
/** The page may be framed: the specification calls the hosted deposit an iFrame. It has no script and no form. */
const headers = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors *`,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
}

const stateTexts: { readonly [status in Status]: string } = {
  Pending: 'Waiting for your payment',
  Completed: 'Paid',
  ManualControl: 'Being checked',
  Cancelled: 'Cancelled',
  Failed: 'Failed',
}

/** Where a hosted create's `url` leads: the state of the deposit, for the customer who holds the link. */
export function registerPayPage(app: App, deps: HttpDependencies, gate: Gate, failWith: FailWith): void {
  app.route({
    method: 'GET',
    url: '/pay/:link',
    schema: {
      operationId: 'showPaymentPage',
      tags: ['Payment page'],
      summary: 'Show a hosted deposit to its customer',
      description: 'The `url` of a hosted create. An HTML page, also for failures.',
      security: [],
      params: Type.Object({ link: Type.String({ description: 'As in the `url`.' }) }),
    },
    errorHandler: (error, request, reply) => {
      const { failure } = failWith(error, request, reply)
      reply.headers(headers).send(page('This page cannot be shown', `<p>${escapeHtml(failure.message)}</p>`))
    },
    handler: async (request, reply) => {
      gate.chargeAddress(request)
      const trackingId = trackingIdOfLink(deps, request.params.link)
      const found = trackingId === undefined ? undefined : await deps.transfers.find(trackingId)
      if (!found) throw new RequestError(failures.unknownTransfer)
      reply.headers(headers)
      return render(deps, found.transfer)
    },
  })
}

function render({ directory, clock }: HttpDependencies, transfer: Transfer): string {
  const settings = directory.byId(transfer.merchantId)?.settings
  const name = settings?.name ?? ''
  const rows = [
    ['To', settings?.sandbox ? `${name} (sandbox: no real money)` : name],
    ['Amount', formatTwoDecimals(transfer.amountMinor)],
    ['State', stateTexts[transfer.status]],
    ...(transfer.kind === 'deposit' && transfer.status === 'Pending'
      ? [['Time left', timeLeft(transfer.expiresAt, clock())]]
      : []),
  ]
  const list = rows.map(([term, value]) => `<dt>${term}</dt><dd>${escapeHtml(value ?? '')}</dd>`).join('')
  return page(`Payment to ${name}`, `<dl>${list}</dl><p><a href="">Check again</a></p>`)
}

function timeLeft(expiresAt: string, now: string): string {
  const minutes = Math.ceil((Date.parse(expiresAt) - Date.parse(now)) / 60_000)
  if (minutes <= 0) return 'none'
  return `${minutes} ${minutes === 1 ? 'minute' : 'minutes'}, until ${expiresAt.slice(0, 16).replace('T', ' ')} UTC`
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow"><title>${escapeHtml(title)}</title><style>${style}</style></head>
<body><main><h1>${escapeHtml(title)}</h1>${content}</main></body></html>
`
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}
