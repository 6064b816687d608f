import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { MerchantSettings } from '../../domain/merchant/merchant-events.js'
import { type Html, html, htmlHeaders } from '../html.js'
import { RequestError } from '../refusals.js'
import { readWebFiles, type WebFile } from '../web-files.js'
import { type Language, languageCodes, languages, requestLanguage } from './page-language.js'

/** Any port of this machine, for the shop of a trial. */
const loopbackOrigins = ['http://localhost:*', 'http://127.0.0.1:*']

/** The assets of the pages: `web/`, which `npm run build` copies into `dist/web`. */
interface Assets {
  /** The digest of all assets. It is part of every URL, so that no cached asset is out of date. */
  readonly version: string
  readonly files: ReadonlyMap<string, WebFile>
}

let loaded: Assets | undefined

/** Reads the assets once, for the first page. @throws Error if the program was built without them */
export function loadAssets(): Assets {
  if (loaded) return loaded
  const files = readWebFiles(new URL('./', import.meta.resolve('#web/payment-page/page.js')), ['page.js', 'page.css'])
  const hash = createHash('sha256')
  for (const [name, { content }] of files) hash.update(`${name}\n`).update(content)
  loaded = { version: hash.digest('hex').slice(0, 16), files }
  return loaded
}

/** Returns the origins that can embed a merchant's payment page; none if empty (docs/decisions). */
export function framingOrigins({ frameAncestors, sandbox }: MerchantSettings): readonly string[] {
  return sandbox ? [...frameAncestors, ...loopbackOrigins] : frameAncestors
}

/** Returns the headers of a page for customers. `framing`: the sources for `frame-ancestors`. */
export function pageHeaders(framing: readonly string[] = []): Readonly<Record<string, string>> {
  const policy = framing.length === 0 ? {} : { 'frame-ancestors': framing.join(' ') }
  return { ...htmlHeaders(policy), vary: 'Accept-Language' }
}

/**
 * Rejects requests that a page of another site makes a browser send. Browsers state the origin of a request. A caller that states none is
 * not a browser and has the link itself. @throws RequestError
 */
export async function refuseCrossSite({ headers, server }: FastifyRequest): Promise<void> {
  const { origin, 'sec-fetch-site': site } = headers
  const isOurs =
    site === undefined
      ? origin === undefined || origin === new URL(server.services.publicUrl).origin
      : site === 'same-origin'
  if (!isOurs) throw new RequestError('cross-site')
}

export interface PageParts {
  readonly language: Language
  readonly title: string
  readonly installationName: string
  /** The relative path to the assets, such as `assets`. */
  readonly assetsAt: string
  /** The page's relative address without a query. */
  readonly self: string
  readonly body: Html
  /** Whether the page runs the payment page's script. */
  readonly script?: boolean
}

/** Returns a complete page for customers. */
export function page({ language, title, installationName, assetsAt, self, body, script = false }: PageParts): string {
  const { version } = loadAssets()
  const texts = languages[language]
  const at = `${assetsAt}/${version}`
  const head = html`<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow"><meta name="format-detection" content="telephone=no">
<title>${title} · ${installationName}</title><link rel="stylesheet" href="${at}/page.css">${script ? html`<script type="module" src="${at}/page.js"></script>` : undefined}
<link rel="icon" href="${at}/icon.svg" type="image/svg+xml"></head>`
  const switches = languageCodes.map(
    (code) =>
      html`<li><a href="${self}?lang=${code}" lang="${code}" hreflang="${code}"${code === language ? html` aria-current="true"` : undefined}>${languages[code].languageName}</a></li>`,
  )
  return html`${head}
<body><nav class="languages" aria-label="${texts.language}"><ul>${switches}</ul></nav>
${body}
</body></html>
`.text
}

type Notice = 'unknown' | 'failure' | 'ended' | 'confirmed' | 'confirmUnknown' | 'confirmUsed' | 'confirmExpired'

/** Returns a page with one message: what happened and what to do next. */
export function notice(parts: Omit<PageParts, 'body' | 'title'>, kind: Notice): string {
  const { [`${kind}Heading` as const]: title, [`${kind}Text` as const]: text } = languages[parts.language]
  return page({ ...parts, title, body: html`<main class="card"><h1>${title}</h1><p>${text}</p></main>` })
}

/** Returns an error handler that responds with a page. `unknown`: the notice for a link that does not exist. */
export function failurePage(app: FastifyInstance, assetsAt: string, unknown: Notice) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const { refusal } = app.failWith(error, request, reply)
    const { installationName } = app.services
    const parts = { language: requestLanguage(request), installationName, assetsAt, self: '' }
    reply.headers(pageHeaders()).send(notice(parts, refusal === 'unknown-transfer' ? unknown : 'failure'))
  }
}
