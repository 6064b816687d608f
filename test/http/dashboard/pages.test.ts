import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { destroyTestService, startTestService } from '../../support/test-service.js'

const service = await startTestService()
t.teardown(() => destroyTestService(service))
const { app } = service

t.test('every address below /dashboard serves the same uncached page with a strict policy', async (t) => {
  for (const url of ['/dashboard', '/dashboard/', '/dashboard/deposits?text=x', '/dashboard/transfers/0b5f/x']) {
    const { statusCode, headers, body } = await app.inject(url)
    t.equal(statusCode, 200, url)
    t.equal(headers['content-type'], 'text/html; charset=utf-8')
    t.equal(headers['cache-control'], 'no-store')
    const [, nonce] = /<meta property="csp-nonce" nonce="([A-Za-z0-9+/]{22}==)"/.exec(body) ?? []
    t.ok(nonce)
    t.strictSame(String(headers['content-security-policy']).split('; ').sort(), [
      "base-uri 'none'",
      "connect-src 'self'",
      "default-src 'none'",
      "font-src 'self'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "img-src 'self'",
      "require-trusted-types-for 'script'",
      "script-src 'self'",
      `style-src 'self' 'nonce-${nonce}'`,
      "trusted-types 'none'",
    ])
    t.match(headers, { 'x-content-type-options': 'nosniff', 'referrer-policy': 'same-origin' })
  }
})

t.test('every response has a new nonce', async (t) => {
  const nonces = await Promise.all(
    Array.from({ length: 20 }, async () => /nonce="([^"]+)"/.exec((await app.inject('/dashboard')).body)?.[1]),
  )
  t.equal(new Set(nonces).size, 20)
})

t.test('serves the assets of the page, cached forever if hashed, and compressed if accepted', async (t) => {
  const { body } = await app.inject('/dashboard/people')
  const addresses = [...body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address!)
  t.ok(addresses.length >= 3)
  t.ok(
    addresses.every((address) => address.startsWith('/dashboard/')),
    'the addresses are absolute, so that they work for every page',
  )
  for (const address of addresses) {
    const plain = await app.inject(address)
    t.equal(plain.statusCode, 200, address)
    t.match(plain.headers['content-type'], /^(text\/(javascript|css); charset=utf-8|image\/svg\+xml)$/)
    t.equal(plain.headers['content-encoding'], undefined)
    const hashed = address.startsWith('/dashboard/assets/')
    t.equal(plain.headers['cache-control'], hashed ? 'public, max-age=31536000, immutable' : 'public, max-age=3600')
    for (const [accepted, encoding, decode] of [
      ['gzip, deflate, br', 'br', brotliDecompressSync],
      ['gzip;q=1.0', 'gzip', gunzipSync],
      ['BR;q=0.5', 'br', brotliDecompressSync],
      ['br;q=0, gzip', 'gzip', gunzipSync],
      ['br ; q=0.000,GZIP', 'gzip', gunzipSync],
      ['gzip; q=0, br;q=0.0', undefined, (content: Buffer) => content],
      ['identity, gzip;q=0', undefined, (content: Buffer) => content],
    ] as const) {
      const compressed = await app.inject({ url: address, headers: { 'accept-encoding': accepted } })
      t.equal(compressed.headers['content-encoding'], encoding, accepted)
      t.equal(compressed.headers.vary, 'Accept-Encoding')
      t.ok(decode(compressed.rawPayload).equals(plain.rawPayload), `${accepted}: the file has the same content`)
    }
  }
})

t.test('missing assets and API routes return 404 instead of the page', async (t) => {
  for (const url of [
    '/dashboard/assets/index-00000000.js',
    '/dashboard/assets/',
    '/dashboard/assets/../index.html',
    '/dashboard/.vite/manifest.json',
    '/dashboard/index.html',
    '/dashboard/api/nothing',
  ]) {
    const { statusCode, body } = await app.inject(url)
    t.equal(statusCode, 404, url)
    t.match(JSON.parse(body), { success: false, error: { code: 40401 } }, url)
  }
})

t.test('the page uses the path of PUBLIC_URL', async (t) => {
  const below = await startTestService({ configuration: { publicUrl: 'https://example.com/pay&go' } })
  t.teardown(() => destroyTestService(below))
  const { body } = await below.app.inject('/dashboard/deposits')
  t.match(body, '<meta name="base-path" content="/pay&#38;go/dashboard" />')
  const addresses = [...body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address!)
  t.ok(addresses.every((address) => address.startsWith('/pay&#38;go/dashboard/')))
})
