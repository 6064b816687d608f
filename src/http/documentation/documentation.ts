import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { loadOnce } from '../../kernel/load-once.js'
import { html, htmlHeaders } from '../html.js'
import { pathOf } from '../public-url.js'
import { RequestError } from '../refusals.js'
import { readWebFiles, sendWebFile, type WebFile } from '../web-files.js'

const documentationPlugin = { name: 'documentation', dependencies: ['gate', 'unknown-routes'] }

/**
 * Serves the page and the documents at `/documentation`, and those of the pages and the health of the service at `/documentation/service`.
 * Both are created on the first request: building a document took a sixth of the main thread's start.
 */
export const documentation = fp(async (app) => {
  const { publicUrl, installationName } = app.services
  const root = `${pathOf(publicUrl)}/documentation`
  const documentsOf = (isService: boolean) =>
    loadOnce(async () => {
      const { describeRoutes } = await import('./describe-routes.js')
      return describeRoutes(app.knownRoutes, app.services, isService)
    })
  const title = `transferd API · ${installationName}`
  const page = async (isService: boolean, reply: FastifyReply) => {
    const policy = {
      'img-src': "'self' data:",
      'connect-src': `'self' ${new URL(publicUrl).origin}`,
      // Swagger UI writes HTML.
      'require-trusted-types-for': '',
    }
    return reply.headers(htmlHeaders(policy)).send(
      html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>
<link rel="icon" href="${root}/static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${root}/static/swagger-ui.css"><link rel="stylesheet" href="${root}/static/page.css">
</head>
<body>
<div id="swagger-ui" data-document="${root}${isService ? '/service' : ''}/json"></div>
<script src="${root}/static/swagger-ui-bundle.js"></script><script src="${root}/static/page.js"></script>
</body>
</html>
`.text,
    )
  }
  await app.register(async (scope) => {
    scope.addHook('onRequest', app.gate.limitObserver())
    const merchantDocuments = documentsOf(false)
    for (const [path, isService, documents] of [
      ['/documentation', false, merchantDocuments],
      ['/documentation/service', true, documentsOf(true)],
    ] as const) {
      scope.get(path, (_, reply) => page(isService, reply))
      scope.get(`${path}/`, (_, reply) => page(isService, reply))
      scope.get(`${path}/json`, async () => (await documents()).json)
      scope.get(`${path}/yaml`, async (_, reply) => reply.type('application/yaml').send((await documents()).yaml))
    }
    scope.get('/documentation/openapi-3.0.json', async () => (await merchantDocuments()).json30)
    scope.get<{ Params: { file: string } }>('/documentation/static/:file', (request, reply) =>
      sendFile(request.params.file, request, reply),
    )
  })
}, documentationPlugin)

let files: ReadonlyMap<string, WebFile> | undefined

/** Sends a file of the page. Reads all of them once. @throws Error if the program was built without them */
function sendFile(name: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  files ??= readWebFiles(new URL('./', import.meta.resolve('#web/documentation/page.js.br')), ['page.js.br'])
  const file = files.get(name)
  if (!file) throw new RequestError('unknown-route')
  return sendWebFile(file, request, reply, 'public, max-age=3600')
}
