import { createHash, randomBytes } from 'node:crypto'
import t from 'tap'
import { signInAs } from '../../support/dashboard.js'
import { createBody, paths, post } from '../../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../../support/test-service.js'

// The clock advances a millisecond at each reading. A test can advance it further.
let elapsedMs = 0
const service = await startTestService({ overrides: { monotonicMs: () => ++elapsedMs } })
t.teardown(() => destroyTestService(service))
const { app, readModels } = service
const { id } = await service.merchant()
const operator = await signInAs(service, 'operator', [id])

const files = {
  'application/pdf': Buffer.concat([Buffer.from('%PDF-1.7\n'), randomBytes(300)]),
  'image/png': Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), randomBytes(300)]),
  'image/jpeg': Buffer.concat([Buffer.from('ffd8ffe0', 'hex'), randomBytes(300)]),
}
const mebibyte = 1024 * 1024

function upload(payload: Buffer, type = 'application/pdf', who = operator) {
  const headers = {
    cookie: who.cookie,
    origin: 'https://pay.example',
    'x-csrf-token': who.csrfToken,
    'content-type': type,
  }
  return app.inject({ method: 'POST', url: '/dashboard/api/receipts', headers, payload })
}
const addressOf = (response: { json(): { receiptUrl: string } }) => new URL(response.json().receiptUrl)

t.test('stores a receipt once under an unpredictable address, and serves it to anyone with the address', async (t) => {
  for (const [type, bytes] of Object.entries(files)) {
    const first = await upload(bytes, type)
    t.equal(first.statusCode, 200, type)
    const { origin, pathname } = addressOf(first)
    t.equal(origin, 'https://pay.example')
    t.match(pathname, new RegExp(`^/receipts/${createHash('sha256').update(bytes).digest('hex')}-[A-Za-z0-9_-]{32}$`))
    t.strictSame((await upload(bytes, type)).json(), first.json(), 'a repeat returns the same address')
    const shown = await app.inject(pathname)
    t.ok(shown.rawPayload.equals(bytes))
    t.match(shown.headers, {
      'content-type': type,
      'content-disposition': /^inline; filename="receipt\.(pdf|png|jpg)"$/,
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-store',
    })
    t.equal((await app.inject({ method: 'HEAD', url: pathname })).statusCode, 200)
  }
  const stored = await readModels.collection('receipts').find({})
  for (const bytes of Object.values(files)) {
    const base64 = bytes.toString('base64')
    t.equal(stored.filter((each) => each.base64 === base64).length, 1, 'stored once')
  }
})

t.test('determines the type from the bytes, regardless of the declared type', async (t) => {
  const { pathname } = addressOf(await upload(files['image/png'], 'application/pdf'))
  t.equal((await app.inject(pathname)).headers['content-type'], 'image/png')
  const page = Buffer.from('<script>alert(1)</script>')
  for (const bytes of [
    page,
    Buffer.concat([Buffer.from(' '), files['application/pdf']]),
    Buffer.alloc(0),
    Buffer.from('%PDF'),
  ]) {
    t.match(await upload(bytes), { statusCode: 415 })
  }
  for (const type of ['text/html', 'image/svg+xml', 'application/json', 'multipart/form-data; boundary=x']) {
    const response = await upload(files['image/png'], type)
    t.match([response.statusCode, response.json()], [415, { error: { code: 41502 } }], type)
  }
})

t.test('accepts up to 5 MB and stores nothing of a larger file', async (t) => {
  const sized = (bytes: number) => Buffer.concat([Buffer.from('%PDF-'), Buffer.alloc(bytes - 5)])
  const largest = await upload(sized(5 * mebibyte))
  t.equal(largest.statusCode, 200)
  t.equal((await app.inject(addressOf(largest).pathname)).rawPayload.length, 5 * mebibyte)
  const before = await readModels.collection('receipts').countDocuments({})
  const response = await upload(sized(5 * mebibyte + 1))
  t.match([response.statusCode, response.json()], [413, { error: { code: 41302 } }])
  t.equal(await readModels.collection('receipts').countDocuments({}), before)
})

t.test('requires the exact address to read a receipt, and the permission to settle to store one', async (t) => {
  const { pathname } = addressOf(await upload(files['image/png']))
  const [sha256 = '', mac = ''] = pathname.slice('/receipts/'.length).split(/-(.*)/s)
  const other = mac.startsWith('A') ? `B${mac.slice(1)}` : `A${mac.slice(1)}`
  for (const name of [
    sha256,
    `${sha256}-`,
    `${sha256}-${other}`,
    `${sha256}-${mac.slice(1)}`,
    `${sha256.toUpperCase()}-${mac}`,
    '..%2f..%2fetc',
  ]) {
    const response = await app.inject(`/receipts/${name}`)
    t.match([response.statusCode, response.json()], [404, { error: { code: 40401 } }], name)
  }
  for (const role of ['viewer', 'auditor', 'operations', 'administrator'] as const) {
    const who = await signInAs(service, role, role === 'viewer' ? [id] : undefined)
    t.equal((await upload(files['image/png'], 'image/png', who)).statusCode, 403, role)
  }
})

t.test('limits the uploads of one user per day without affecting others', async (t) => {
  const first = await signInAs(service, 'operator', [id])
  const large = Buffer.concat([Buffer.from('%PDF-'), Buffer.alloc(5 * mebibyte - 5)])
  for (let n = 0; n < 40; n++) t.equal((await upload(large, 'application/pdf', first)).statusCode, 200)
  const small = files['image/png']
  const refused = await upload(large, 'application/pdf', first)
  t.match(refused.json(), { error: { code: 42901, details: 'Each user can upload 200 MB of receipts per day.' } })
  const seconds = Number(refused.headers['retry-after'])
  t.ok(seconds > 0 && seconds <= 86_400 / 40, String(seconds))
  t.equal((await upload(small, 'image/png', operator)).statusCode, 200)
  elapsedMs += seconds * 1000
  t.equal((await upload(large, 'application/pdf', first)).statusCode, 200)
})

/** Returns the start of a PNG with these dimensions, which is all that the service reads. */
function png(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(64)
  bytes.write('89504e470d0a1a0a0000000d49484452', 0, 'hex')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}
const webp = Buffer.from('524946461c000000574542505650384c0f0000002f3fc00f00', 'hex')

t.test("stores a merchant's logo, names its digest in the log, and shows it on the payment page", async (t) => {
  const own = await service.merchant()
  const admin = await signInAs(service, 'administrator')
  const url = `/dashboard/api/merchants/${own.id}/logo`
  const send = (payload: Buffer, type = 'image/png', who = admin) => {
    const headers = { cookie: who.cookie, origin: 'https://pay.example', 'x-csrf-token': who.csrfToken }
    return app.inject({ method: 'PUT', url, headers: { ...headers, 'content-type': type }, payload })
  }
  const body = createBody('hosted', own.secretKey, {})
  const { pathname } = new URL((await post(app, paths.hosted, body, { key: own.webApiKey })).json().url)
  t.notMatch((await app.inject(pathname)).body, /class="logo"/)
  for (const [image, type] of [
    [png(1_024, 1), 'image/png'],
    [webp, 'image/webp'],
  ] as const) {
    const digest = createHash('sha256').update(image).digest('hex')
    t.match((await send(image)).json(), { logoSha256: digest })
    t.match((await service.store.readStream(`merchant-${own.id}`)).at(-1), {
      type: 'MerchantLogoChanged',
      data: { sha256: digest },
      metadata: { actor: `user:${admin.userId}` },
    })
    const [, src = ''] = /class="logo" src="([^"]+)"/.exec((await app.inject(pathname)).body) ?? []
    const shown = await app.inject(new URL(src, `https://pay.example${pathname}`).pathname)
    t.ok(shown.rawPayload.equals(image))
    t.match(shown.headers, {
      'content-type': type,
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
    })
  }
  t.equal((await admin.get(`/merchants/${own.id}/logo`)).statusCode, 200)
  const { revision } = (await service.store.readStream(`merchant-${own.id}`)).at(-1)!
  const refused = [
    [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'image/png', 400],
    [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'image/svg+xml', 415],
    [Buffer.concat([Buffer.from('%PDF-1.7\n'), randomBytes(300)]), 'image/png', 400],
    [png(1_025, 1), 'image/png', 400],
    [png(0, 1), 'image/png', 400],
    [png(1, 1).subarray(0, 20), 'image/png', 400],
    [Buffer.concat([png(1, 1), Buffer.alloc(128 * 1024)]), 'image/png', 413],
  ] as const
  for (const [image, type, status] of refused) t.equal((await send(image, type)).statusCode, status)
  t.equal((await send(png(1, 1), 'image/png', operator)).statusCode, 403)
  t.equal((await service.store.readStream(`merchant-${own.id}`)).at(-1)?.revision, revision)
  t.equal((await upload(webp, 'image/webp')).statusCode, 415, 'a receipt is not a WebP file')

  t.match((await admin.delete(`/merchants/${own.id}/logo`)).json(), { logoSha256: null })
  t.notMatch((await app.inject(pathname)).body, /class="logo"/)
  for (const address of [`${pathname}/logo`, '/pay/unknown/logo']) t.equal((await app.inject(address)).statusCode, 404)
})
