import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from '../../kernel/typebox.js'
import { escapeHtml, htmlHeaders } from '../html.js'
import { RequestError } from '../refusals.js'

const types: { readonly [extension: string]: string } = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

interface Asset {
  readonly type: string
  readonly content: Buffer
  /** Compressed by the build. */
  readonly gzipped: Buffer
}

interface Built {
  readonly shell: string
  /** The files by their path below `/dashboard/`. */
  readonly assets: ReadonlyMap<string, Asset>
}

/** Serves the pages that `npm run build` builds from web/dashboard. Any other address is a page of the application. */
export const dashboardPages: FastifyPluginAsyncTypebox = async (app) => {
  const basePath = `${new URL(app.services.publicUrl).pathname.replace(/\/$/, '')}/dashboard`
  const show = async (request: FastifyRequest, reply: FastifyReply) => {
    app.gate.chargeAddress(request)
    const nonce = randomBytes(16).toString('base64')
    // React Aria adds two style elements with the nonce of the page.
    const policy = { 'style-src': `'self' 'nonce-${nonce}'`, 'trusted-types': "'none'" }
    return reply.headers(htmlHeaders(policy)).send(shellAt(basePath, nonce))
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

function sendAsset(path: string, { headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  const asset = loadBuilt().assets.get(path)
  if (!asset) throw new RequestError('unknown-route')
  const takesGzip = /\bgzip\b/.test(headers['accept-encoding'] ?? '')
  if (takesGzip) reply.header('content-encoding', 'gzip')
  // Files in assets/ have a content hash in their names.
  const caching = path.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'public, max-age=3600'
  return reply
    .headers({
      'content-type': asset.type,
      'cache-control': caching,
      'x-content-type-options': 'nosniff',
      vary: 'Accept-Encoding',
    })
    .send(takesGzip ? asset.gzipped : asset.content)
}

function shellAt(basePath: string, nonce: string): string {
  const base = escapeHtml(basePath)
  return loadBuilt()
    .shell.replaceAll('"./', `"${base}/`)
    .replace('nonce=""', `nonce="${nonce}"`)
    .replace('</title>', `</title>\n    <meta name="base-path" content="${base}" />`)
}

let built: Built | undefined

/** Reads the files once, at the first request. @throws Error if the program was built without them */
function loadBuilt(): Built {
  built ??= readBuilt(new URL('./', import.meta.resolve('#web/dashboard/index.html')))
  return built
}

function readBuilt(folder: URL): Built {
  const shell = new URL('index.html', folder)
  if (!existsSync(shell)) {
    throw new Error(`the dashboard is not built: run npm run build (nothing in ${folder.pathname})`)
  }
  const assets = new Map<string, Asset>()
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = name.replaceAll('\\', '/')
    const type = types[extname(path)]
    if (type === undefined) continue
    const content = readFileSync(new URL(path, folder))
    assets.set(path, { type, content, gzipped: readFileSync(new URL(`${path}.gz`, folder)) })
  }
  return { shell: readFileSync(shell, 'utf8'), assets }
}
