import { readFileSync } from 'node:fs'
import t from 'tap'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
const time = { aheadMs: 0 }
const clock = () => new Date(Date.now() + time.aheadMs).toISOString()
const service = await startTestService({ clock })
t.teardown(() => destroyTestService(service))
const { app } = service
const name = `<script>alert('x')</script> & {amount}`
const returnUrl = 'https://shop.example/back?a=1&b=2'
const frameAncestors = ['https://shop.example', 'https://www.shop.example:8443']
const { secretKey } = await service.merchant({ name, returnUrl, frameAncestors })
const live = await service.merchant({ name: 'Live', sandbox: false, allowIps: ['192.0.2.7'] })

async function hosted(secret = secretKey, address = '127.0.0.1') {
  const body = createBody('hosted', secret, {}, '1234.5')
  const response = await post(app, paths.hosted, body, { address })
  const { url, trackingId } = response.json<{ url: string; trackingId: string }>()
  return { path: new URL(url).pathname, trackingId }
}

t.test(
  'shows the merchant, the amount and the remaining time, all escaped, without inline scripts or styles',
  async (t) => {
    const { path } = await hosted()
    const page = await app.inject({ url: path, remoteAddress: '198.51.100.1' })
    t.equal(page.statusCode, 200)
    t.match(page.body, '&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62; &#38; {amount}')
    t.match(page.body, '1,234.50')
    t.match(page.body, '30 minutes')
    t.match(page.body, 'Test mode')
    for (const [, address] of page.body.matchAll(/(?:href|src|action)="([^"]*)"/g)) {
      t.match(
        address,
        /^(assets\/|[\w.-]*\?lang=|https:\/\/shop\.example\/|$)/,
        'links lead only to this service or back to the merchant',
      )
    }
    t.notMatch(page.body, / on\w+=|style=|<style|javascript:/)
    for (const [, attributes] of page.body.matchAll(/<script([^>]*)>/g)) {
      t.match(attributes, / src="assets\/|type="application\/json"/)
    }
    const data = /<script type="application\/json"[^>]*>(.*?)<\/script>/s.exec(page.body)
    t.match(JSON.parse(data![1]!), { state: { phase: 'open' }, language: 'en' })
  },
)

t.test('blocks other sources by its headers, and allows only the origins of the merchant to frame it', async (t) => {
  const { path } = await hosted()
  const { headers } = await app.inject(path)
  t.match(headers, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-robots-tag': /noindex/,
    'permissions-policy': /camera=\(\)/,
  })
  const policy = String(headers['content-security-policy'])
  t.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; /)
  t.match(policy, /form-action 'self'; require-trusted-types-for 'script'; /)
  t.match(policy, new RegExp(`frame-ancestors ${frameAncestors.join(' ')} http://localhost:\\* http://127.0.0.1:\\*$`))
  t.notMatch(policy, /unsafe|data:|\*;/)
  const { path: livePath } = await hosted(live.secretKey, '192.0.2.7')
  t.match((await app.inject(livePath)).headers['content-security-policy'], /frame-ancestors 'none'$/)
  const unknown = (await app.inject('/pay/x')).headers
  t.match(unknown['content-security-policy'], /frame-ancestors 'none'$/)
})

t.test('uses the language of the browser unless the customer selects one', async (t) => {
  const { path } = await hosted()
  const cases: [string, string | undefined, string][] = [
    ['', undefined, 'en'],
    ['', 'tr-TR,tr;q=0.9,en;q=0.8', 'tr'],
    ['', 'de, tr;q=0.3, en;q=0.5', 'en'],
    ['', 'tr;q=0, en;q=0.1', 'en'],
    ['', ';;;q=,,tr', 'tr'],
    ['?lang=tr', 'en', 'tr'],
    ['?lang=constructor', 'tr', 'tr'],
    ['?lang=tr&lang=en', 'en', 'en'],
  ]
  for (const [query, accept, expected] of cases) {
    const page = await app.inject({ url: path + query, headers: accept ? { 'accept-language': accept } : {} })
    t.match(page.body, `<html lang="${expected}">`, `${query} ${accept}`)
    t.equal(page.headers['content-language'], expected)
    t.match(page.body, expected === 'tr' ? '1.234,50' : '1,234.50')
  }
})

t.test('has every text in both languages, with the same placeholders', async (t) => {
  const { languages } = await import('../../src/http/payment-page/page-language.js')
  t.strictSame(Object.keys(languages.tr), Object.keys(languages.en))
  const slots = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).sort()
  for (const [key, text] of Object.entries(languages.en)) {
    const other = languages.tr[key as keyof typeof languages.en]
    t.strictSame(slots(other), slots(text), key)
    t.ok(other.trim() && text.trim(), key)
  }
})

t.test('shows the current state until the deposit expires or one day after it ends', async (t) => {
  const cancelled = await hosted()
  await service.transfers.act(cancelled.trackingId, { type: 'Cancel', message: 'a note by the operator' }, context)
  const page = await app.inject(cancelled.path)
  t.equal(page.statusCode, 200)
  t.match(page.body, 'This payment was cancelled')
  t.notMatch(page.body, 'a note by the operator')
  t.match(page.body, `href="${returnUrl.replaceAll('&', '&#38;')}&#38;trackingId=${cancelled.trackingId}`)

  const open = await hosted()
  const checking = await hosted()
  await service.transfers.act(checking.trackingId, { type: 'SendToManualControl', message: null }, context)
  time.aheadMs = 31 * 60_000
  const expired = await app.inject(open.path)
  t.equal(expired.statusCode, 410)
  t.match(expired.body, 'This payment has expired')
  t.match((await app.inject(`${open.path}/state`)).json(), { phase: 'expired', secondsLeft: 0 })
  time.aheadMs = 25 * 3_600_000
  const ended = await app.inject(cancelled.path)
  t.equal(ended.statusCode, 410)
  t.notMatch(ended.body, /1,234\.50|alert|shop\.example/)
  t.equal((await app.inject(checking.path)).statusCode, 200, 'the link of a deposit under review stays valid')
  time.aheadMs = 0
})

t.test('rejects a forged link and a link to a native deposit', async (t) => {
  const { path, trackingId } = await hosted()
  const other = await hosted()
  const mac = path.split('.')[1]
  const links = [`${path}x`, path.slice(0, -1), `/pay/${trackingId}`, `/pay/${other.trackingId}.${mac}`, '/pay/x']
  const { webApiKey, secretKey: secret } = await service.merchant()
  const native = await post(app, paths.native, createBody('native', secret), { key: webApiKey })
  const { trackingId: nativeId } = native.json<{ result: { trackingId: string } }>().result
  const nativeMac = (await import('../../src/security/secret-box.js')).createSecretBox(service.masterKey)
  links.push(`/pay/${nativeId}.${nativeMac.mac('pay', nativeId).slice(0, 22)}`)
  for (const link of [...links, `/pay/${trackingId}.${'A'.repeat(22)}`, `/pay/${'A'.repeat(36)}.${mac}`]) {
    const page = await app.inject(link)
    t.equal(page.statusCode, 404, link)
    t.match(page.headers['content-type'], /^text\/html/)
    t.notMatch(page.body, '1,234.50')
    const state = await app.inject(`${link}/state`)
    t.equal(state.statusCode, 404)
    t.same(state.json(), { reason: 'over' })
  }
})

t.test('lets browsers cache only the files of the current version of the page', async (t) => {
  const { path } = await hosted()
  const page = await app.inject(path)
  const addresses = [...page.body.matchAll(/(?:href|src)="(assets\/[^"]+)"/g)].map(([, address]) => `/pay/${address}`)
  t.equal(addresses.length, 3)
  for (const address of addresses) {
    const asset = await app.inject(address)
    t.equal(asset.statusCode, 200, address)
    t.equal(asset.headers['cache-control'], 'public, max-age=31536000, immutable')
    t.equal(asset.headers['x-content-type-options'], 'nosniff')
    const older = await app.inject(address.replace(/assets\/\w+/, 'assets/0123456789abcdef'))
    t.equal(older.headers['cache-control'], 'no-store')
    t.equal(older.body, asset.body)
  }
  const script = addresses.find((address) => address.endsWith('.js'))!
  const { body } = await app.inject(script)
  for (const [, imported] of body.matchAll(/from '\.\/([^']+)'/g)) {
    t.equal((await app.inject(script.replace('page.js', imported!))).statusCode, 200)
  }
  for (const file of ['package.json', '..%2fpackage.json', 'constructor']) {
    t.equal((await app.inject(`/pay/assets/x/${file}`)).statusCode, 404, file)
  }
})

t.test('includes the files of the page in the installed package', async (t) => {
  const { files, scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  t.ok(files.includes('dist/web'))
  t.match(scripts.build, 'tsc -p web/payment-page')
})
