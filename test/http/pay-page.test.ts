import t from 'tap'
import { createBody, destroyTestService, paths, post, startTestService } from '../support/test-service.js'

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
const service = await startTestService()
t.teardown(() => destroyTestService(service))
const { app } = service
const { secretKey } = await service.merchant({ name: `<script>alert('x')</script> & Co` })

async function hosted() {
  const answer = await post(app, paths.hosted, createBody('hosted', secretKey, {}, '1234.5'))
  const { url, trackingId } = answer.json<{ url: string; trackingId: string }>()
  return { path: new URL(url).pathname, trackingId }
}

t.test('the url of a hosted create shows merchant, amount, state and time left, all escaped', async (t) => {
  const { path } = await hosted()
  const page = await app.inject({ url: path, remoteAddress: '198.51.100.1' })
  t.equal(page.statusCode, 200)
  t.match(page.headers, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-robots-tag': /noindex/,
    'content-security-policy': /^default-src 'none'; style-src 'sha256-/,
  })
  t.notMatch(page.body, /<script/)
  t.match(page.body, '&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62; &#38; Co')
  t.match(page.body, '1234.50')
  t.match(page.body, 'Waiting for your payment')
  t.match(page.body, '30 minutes, until')
  t.match(page.body, 'sandbox')
  t.match(page.body, 'lang="en"')
  t.notMatch(page.body, /https?:/)
})

t.test('the page follows the state', async (t) => {
  const { path, trackingId } = await hosted()
  await service.transfers.changeStatus(trackingId, 'Cancel', null, context)
  const page = await app.inject(path)
  t.match(page.body, 'Cancelled')
  t.notMatch(page.body, 'Time left')
})

t.test('a link that was not made here opens nothing', async (t) => {
  const { path, trackingId } = await hosted()
  const other = await hosted()
  const mac = path.split('.')[1]
  const links = [`${path}x`, path.slice(0, -1), `/pay/${trackingId}`, `/pay/${other.trackingId}.${mac}`, '/pay/x']
  for (const link of [...links, `/pay/${trackingId}.${'A'.repeat(22)}`, `/pay/${'A'.repeat(36)}.${mac}`]) {
    const page = await app.inject(link)
    t.equal(page.statusCode, 404, link)
    t.match(page.headers['content-type'], /^text\/html/)
    t.notMatch(page.body, '1234.50')
  }
})
