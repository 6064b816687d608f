import { readFile } from 'node:fs/promises'
import t from 'tap'
import { failures } from '../../src/http/errors.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const service = await startTestService()
t.teardown(() => destroyTestService(service))
const routes = service.app.knownRoutes

interface Operation {
  readonly summary?: string
  readonly operationId?: string
  readonly responses: { readonly [status: string]: { readonly description?: string } }
  readonly parameters?: readonly { readonly in: string; readonly name: string }[]
  readonly requestBody?: { readonly content: { readonly [type: string]: { readonly schema: object } } }
}
interface Document {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string }
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
}

t.test('the OpenAPI document is 3.1, covers every route, and is complete', async (t) => {
  const answer = await service.app.inject('/documentation/json')
  const document = answer.json<Document>()
  t.equal(document.openapi, '3.1.0')
  const documented = routes.filter(({ method, url }) => method !== 'HEAD' && !url.startsWith('/documentation'))
  t.ok(documented.length >= 13)
  const ids = new Set<string | undefined>()
  for (const { method, url } of documented) {
    const path = url.replaceAll(/:(\w+)/g, '{$1}')
    const operation = document.paths[path]?.[method.toLowerCase()]
    t.ok(operation, `${method} ${url}`)
    t.ok(operation?.summary)
    ids.add(operation?.operationId)
    for (const [status, { description }] of Object.entries(operation?.responses ?? {})) {
      t.ok(description && description !== 'Default Response', `${method} ${url} ${status} has a description`)
    }
    for (const [, parameter] of path.matchAll(/\{(\w+)\}/g)) {
      t.ok(
        operation?.parameters?.some((each) => each.in === 'path' && each.name === parameter),
        String(parameter),
      )
    }
    if (url.startsWith('/v1') || (method === 'POST' && !/^\/(pay|device)\//.test(url))) {
      t.match(Object.keys(operation?.responses ?? {}), /401.*403.*429.*500.*503/s)
    }
  }
  t.equal(ids.size, documented.length, 'operation ids are unique')
})

t.test('the creates are documented with both content types, examples, headers and every failure', async (t) => {
  const document = (await service.app.inject('/documentation/json')).json<Document>()
  const create = document.paths['/Transaction/CreateDeposit']?.post
  t.same(Object.keys(create?.requestBody?.content ?? {}), ['application/json-patch+json', 'application/json'])
  t.same(Object.keys(create?.responses ?? {}), ['200', '400', '401', '403', '409', '413', '415', '429', '500', '503'])
  t.same(
    create?.parameters?.filter((each) => each.in === 'header').map(({ name }) => name),
    ['X-Signature', 'X-Request-Id'],
  )
  t.match(JSON.stringify(create?.requestBody), /"examples":\["Ada Lovelace"\]/)
})

t.test('the page is there and works without inline scripts', async (t) => {
  const page = await service.app.inject('/documentation')
  const at = page.statusCode === 302 ? String(page.headers.location) : '/documentation'
  const answer = await service.app.inject(new URL(at, 'http://a/documentation').pathname)
  t.equal(answer.statusCode, 200)
  const policy = String(answer.headers['content-security-policy'])
  t.match(policy, /default-src 'none'; script-src 'self'/)
  t.notMatch(policy, /swagger\.io|upgrade-insecure-requests/)
  t.notMatch(policy, /script-src[^;]*unsafe/)
  for (const [, attributes, inline] of answer.body.matchAll(/<script([^>]*)>([\s\S]*?)<\/script>/g)) {
    t.match(attributes, /src=/)
    t.equal(inline?.trim(), '')
  }
})

t.test('docs/reference/errors.md lists exactly the codes there are', async (t) => {
  const text = await readFile('docs/reference/errors.md', 'utf8')
  const documented = [...text.matchAll(/^\| (\d{5}) \| (\d{3}) \|/gm)].map(([, code, status]) => `${code} ${status}`)
  const codes = Object.values(failures).map(({ code, status }) => `${code} ${status}`)
  t.same(documented.sort(), codes.sort())
  t.equal(new Set(Object.values(failures).map(({ code }) => code)).size, codes.length)
})
