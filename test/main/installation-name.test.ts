import t from 'tap'
import { nameOf } from '../../src/main/listening.js'
import { deviceEmail } from '../../src/wallet/built-in/message-texts.js'
import { signInAs } from '../support/dashboard.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

t.test('an installation is named after its host, with its port and path', async (t) => {
  const names = [
    ['https://pay.example', 'pay.example'],
    ['https://pay.example:443', 'pay.example'],
    ['https://pay.example:8443', 'pay.example:8443'],
    ['https://pay.example/payments', 'pay.example/payments'],
    ['http://127.0.0.1:3000', '127.0.0.1:3000'],
    ['http://127.0.0.1:3001', '127.0.0.1:3001'],
    ['http://[::1]:3000/a/b', '[::1]:3000/a/b'],
  ] as const
  for (const [url, name] of names) t.equal(nameOf(url), name)
})

/** Returns every text with which an installation appears in other programs, by place. */
async function shownBy(publicUrl: string, installationName?: string) {
  const outbox = async () => []
  const service = await startTestService({ configuration: { publicUrl, installationName }, overrides: { outbox } })
  t.teardown(() => destroyTestService(service))
  const { app } = service
  const { secretKey, webApiKey, id } = await service.merchant()
  const hosted = (await post(app, paths.hosted, createBody('hosted', secretKey, {}, '10'))).json<{ url: string }>()
  const titleOf = async (url: string) => /<title>(.*)<\/title>/.exec((await app.inject(url)).body)?.[1]
  const link = hosted.url.slice(publicUrl.length)
  const operator = await signInAs(service, 'operator', [id])
  const fields = { accountNumber: 'DE89370400440532013000' }
  const withdrawal = createBody('withdrawal', secretKey, fields, '10')
  const { trackingId } = (await post(app, paths.withdrawal, withdrawal, { key: webApiKey })).json().result
  await operator.post(`/transfers/${trackingId}/claim`, { revision: 0 })
  const file = await operator.post('/withdrawals/bank-file', { format: 'csv', trackingIds: [trackingId] })
  const payment = { merchantName: 'Shop', amountMinor: 1n }
  const name = service.http.installationName
  const email = deviceEmail('ada@example.com', 'https://x', payment, { code: 'TRY', decimals: 2 }, name)
  return {
    name,
    texts: {
      authenticator: new URL((await operator.post('/session/second-factor')).json().uri).searchParams.get('issuer'),
      dashboard: await titleOf('/dashboard/deposits'),
      'payment page': await titleOf(link),
      'payment page that does not exist': await titleOf('/pay/unknown'),
      'device page': await titleOf('/device/unknown'),
      outbox: await titleOf('/sandbox/outbox?token=x'),
      'documentation page': await titleOf('/documentation'),
      'documentation page of the service': await titleOf('/documentation/service'),
      documentation: (await app.inject('/documentation/json')).json().info.title,
      'documentation of the service': (await app.inject('/documentation/service/json')).json().info.title,
      'documentation for generators': (await app.inject('/documentation/openapi-3.0.json')).json().info.title,
      'subject of an email': email.subject,
      'bank file': /filename\*?=.*$/.exec(String(file.headers['content-disposition']))?.[0],
    },
  }
}

t.test('every name that other programs show distinguishes two installations', async (t) => {
  const installations = [
    await shownBy('https://pay.example'),
    await shownBy('https://pay.example/payments'),
    await shownBy('http://127.0.0.1:3000'),
    await shownBy('http://127.0.0.1:3001'),
    await shownBy('https://pay.example', 'Blue <Pay>'),
    await shownBy('https://pay.example', 'Ödeme'),
    await shownBy('https://pay.example', '支付'),
  ]
  for (const place of Object.keys(installations[0]!.texts) as (keyof (typeof installations)[0]['texts'])[]) {
    const shown = installations.map(({ texts }) => String(texts[place]).replace(/\d{4}-\d\d-\d\d-[0-9a-f]{32}/g, ''))
    t.equal(new Set(shown).size, installations.length, `${place}: ${shown.join(', ')}`)
    t.notMatch(shown.join(), /undefined|null/, place)
    if (/page|dashboard|outbox/.test(place)) t.notMatch(shown.join(), '<', `${place} is escaped`)
  }
})
