import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { Type } from '../../kernel/typebox.js'
import type { OutboxMessage } from '../../wallet/messages.js'
import { html } from '../html.js'
import { loadAssets, pageHeaders } from '../payment-page/page-layout.js'
import { RequestError } from '../refusals.js'

/** The schema rejects nothing: a wrong or missing token looks as if nothing existed. */
const OutboxQuery = Type.Object({
  token: Type.Optional(Type.Unsafe<unknown>({ description: 'The token that the banner prints.' })),
})

const shown = 50
const refreshSeconds = '3'
const loopbackHost = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i
/** Headers that proxies set. A caller behind a proxy is not on this machine, regardless of the connection's address. */
const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via']

/**
 * Shows the messages that the sandbox's wallet would have sent. It requires the token of the banner, a caller on this machine, and that
 * no live merchant exists. Otherwise the route does not exist.
 */
export const sandboxOutbox: FastifyPluginAsyncTypebox = async (app) => {
  const schema = {
    operationId: 'showSandboxOutbox',
    tags: ['Payment page'],
    summary: "Get the sandbox's text messages and emails",
    description:
      'Codes and links, newest first. Only in sandbox mode, for callers on this machine, with the token of the banner; 404 otherwise.',
    querystring: OutboxQuery,
    security: [],
  }
  app.get('/sandbox/outbox', { schema }, async (request, reply) => {
    app.gate.chargeAddress(request)
    const { token } = request.query
    const mayAsk = typeof token === 'string' && isOnThisMachine(request)
    const messages = mayAsk ? await app.services.outbox(token) : undefined
    if (!messages) throw new RequestError('unknown-route')
    reply.headers({ ...pageHeaders(), 'referrer-policy': 'no-referrer', refresh: refreshSeconds })
    return outboxPage(messages.slice(0, shown), app.services.installationName)
  })
}

/** Checks the connection and the requested name, because another site's name could resolve to this machine (DNS rebinding). */
function isOnThisMachine({ ip, headers }: Pick<FastifyRequest, 'ip' | 'headers'>): boolean {
  if (!ipaddr.isValid(ip) || ipaddr.process(ip).range() !== 'loopback') return false
  return loopbackHost.test(headers.host ?? '') && proxyHeaders.every((name) => headers[name] === undefined)
}

function outboxPage(messages: readonly OutboxMessage[], installationName: string): string {
  const rows = messages.map(
    ({ kind, to, code, link, at }) =>
      html`<tr><td><time datetime="${at}">${at.slice(11, 19)}</time></td><td>${kind === 'sms' ? 'SMS' : 'Email'}</td><td>${to}</td><td>${code === null ? undefined : html`<strong class="code">${code}</strong>`}${link === null ? undefined : html`<a href="${link}" target="_blank" rel="noopener">Confirm the device</a>`}</td></tr>`,
  )
  const table =
    rows.length === 0
      ? html`<p>Nothing yet. Log in on a payment page: the code comes here.</p>`
      : html`<div class="scroll"><table><thead><tr><th scope="col">Time (UTC)</th><th scope="col">Kind</th><th scope="col">To</th><th scope="col">Code or link</th></tr></thead><tbody>${rows}</tbody></table></div>`
  const assets = `../pay/assets/${loadAssets().version}`
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Sandbox outbox · ${installationName}</title>
<link rel="stylesheet" href="${assets}/page.css"><link rel="icon" href="${assets}/icon.svg" type="image/svg+xml"></head>
<body><main class="card wide"><h1>Sandbox outbox</h1><p>The messages that the wallet would have sent, newest first. The page reloads every ${refreshSeconds} seconds.</p>${table}</main></body></html>
`.text
}
