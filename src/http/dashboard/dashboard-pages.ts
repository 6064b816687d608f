import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { extname } from 'node:path'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from '../../kernel/typebox.js'
import { escapeHtml, htmlHeaders } from '../html.js'
import { pathOf } from '../public-url.js'
import { RequestError } from '../refusals.js'
import { readWebFiles, sendWebFile, type WebFile } from '../web-files.js'

/** Serves the pages that `npm run build` builds from web/dashboard. Any other address is a page of the application. */
export const dashboardPages: FastifyPluginAsyncTypebox = async (app) => {
  const { publicUrl, installationName } = app.services
  const place = { basePath: `${pathOf(publicUrl)}/dashboard`, installationName }
  const show = async (request: FastifyRequest, reply: FastifyReply) => {
    app.gate.chargeAddress(request)
    const nonce = randomBytes(16).toString('base64')
    // React Aria adds two style elements with the nonce of the page.
    const policy = { 'style-src': `'self' 'nonce-${nonce}'`, 'font-src': "'self'", 'trusted-types': "'none'" }
    return reply.headers(htmlHeaders(policy)).send(shellAt(place, nonce))
  }
  app.get('/dashboard', show)
  app.get('/dashboard/*', { schema: { params: Type.Object({ '*': Type.String() }) } }, async (request, reply) => {
    const path = request.params['*']
    if (path.startsWith('api/')) throw new RequestError('unknown-route')
    if (!path.startsWith('assets/') && extname(path) === '') return show(request, reply)
    app.gate.chargeAddress(request)
    return sendAsset(path, request, reply)
  })
}

function sendAsset(path: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const asset = loadBuilt().assets.get(path)
  if (!asset) throw new RequestError('unknown-route')
  // Files in assets/ have a content hash in their names.
  const caching = path.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'public, max-age=3600'
  return sendWebFile(asset, request, reply, caching)
}

interface Place {
  readonly basePath: string
  readonly installationName: string
}

function shellAt({ basePath, installationName }: Place, nonce: string): string {
  const [base, name] = [escapeHtml(basePath), escapeHtml(installationName)]
  const head = `<title>${name}</title>
    <meta name="base-path" content="${base}" />
    <meta name="application-name" content="${name}" />`
  // Functions, because `$` in a replacement text has a meaning.
  return loadBuilt()
    .shell.replaceAll('"./', () => `"${base}/`)
    .replace('nonce=""', `nonce="${nonce}"`)
    .replace(/<title>.*<\/title>/, () => head)
}

let built: { readonly shell: string; readonly assets: ReadonlyMap<string, WebFile> } | undefined

/** Reads the files once, at the first request. @throws Error if the program was built without them */
function loadBuilt() {
  if (built) return built
  const folder = new URL('./', import.meta.resolve('#web/dashboard/index.html'))
  const assets = readWebFiles(folder, ['index.html'])
  built = { shell: readFileSync(new URL('index.html', folder), 'utf8'), assets }
  return built
}
