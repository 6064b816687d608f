import t from 'tap'
import { cookieScope, pathOf } from '../../src/http/public-url.js'
import { password, signInAs } from '../support/dashboard.js'
import { MemoryWallet } from '../support/memory-wallet.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

t.test('cookies are for the path of PUBLIC_URL, with the strictest prefix that browsers accept there', async (t) => {
  const scopes = [
    ['https://pay.example', '', { prefix: '__Host-', path: '/', secure: true }],
    ['https://pay.example:8443', '', { prefix: '__Host-', path: '/', secure: true }],
    ['https://pay.example/payments', '/payments', { prefix: '__Secure-', path: '/payments', secure: true }],
    ['https://pay.example/a/b', '/a/b', { prefix: '__Secure-', path: '/a/b', secure: true }],
    ['http://pay.example/payments', '/payments', { prefix: '__Secure-', path: '/payments', secure: true }],
    ['http://127.0.0.1:3000', '', { prefix: '', path: '/', secure: false }],
    ['http://localhost:3000/payments', '/payments', { prefix: '', path: '/payments', secure: false }],
  ] as const
  for (const [url, path, scope] of scopes) {
    t.equal(pathOf(url), path)
    t.same(cookieScope(url), scope, url)
  }
})

t.test('both kinds of sessions are limited to the path', async (t) => {
  const wallet = new MemoryWallet()
  wallet.open('ada@example.com', '246813', 100_00n)
  const service = await startTestService({ wallet, configuration: { publicUrl: 'https://pay.example/payments' } })
  t.teardown(() => destroyTestService(service))
  const { app } = service
  const { secretKey } = await service.merchant()
  const { email } = await signInAs(service, 'auditor')
  const headers = { origin: 'https://pay.example' }
  const session = await app.inject({
    method: 'POST',
    url: '/dashboard/api/session',
    headers,
    payload: { email, password },
  })
  const created = (await post(app, paths.hosted, createBody('hosted', secretKey, {}, '10'))).json<{ url: string }>()
  const url = `${created.url.slice('https://pay.example/payments'.length)}/login`
  const login = await app.inject({
    method: 'POST',
    url,
    headers,
    payload: { email: 'ada@example.com', password: '246813' },
  })
  const cookies = [...session.cookies, ...login.cookies].map(({ name, path, secure }) => ({ name, path, secure }))
  t.same(
    cookies,
    ['transferd-device', 'transferd', 'wallet-device'].map((name) => ({
      name: `__Secure-${name}`,
      path: '/payments',
      secure: true,
    })),
  )
})
