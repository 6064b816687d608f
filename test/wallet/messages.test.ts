import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import t, { type Test } from 'tap'
import type { Currency } from '../../src/domain/money.js'
import { openEmbeddedReadModels } from '../../src/read-models/embedded/embedded-read-models.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { codeSms, deviceEmail } from '../../src/wallet/built-in/message-texts.js'
import { createSmsGateway, createSmtp, routeMessages } from '../../src/wallet/messages/gateways.js'
import { Outbox } from '../../src/wallet/messages/outbox.js'
import { MessageNotSentError } from '../../src/wallet/messages.js'

const link = 'https://pay.example/device/canary-link?a=1&b=2'
const lira: Currency = { code: 'TRY', decimals: 2 }
const payment = { merchantName: 'Çiçek & <b>Söhne</b>', amountMinor: 123_450n }
const email = deviceEmail('ada@example.com', link, payment, lira, 'pay.example')
const sms = codeSms('+905551234567', '730914', payment, lira)
const secrets = /canary-link|730914/

interface Received {
  readonly from: string
  readonly to: readonly string[]
  readonly login: string | undefined
  readonly text: string
}

async function mailServer(t: Test, options: SMTPServerOptions = {}) {
  const received: Received[] = []
  const server = new SMTPServer({
    authOptional: true,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    onAuth: ({ username, password }, _session, done) =>
      password === 'pass word' ? done(null, { user: username }) : done(new Error('wrong login')),
    onData(stream, { envelope, user }, done) {
      let text = ''
      stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      stream.on('end', () => {
        const from = envelope.mailFrom ? envelope.mailFrom.address : ''
        received.push({ from, to: envelope.rcptTo.map(({ address }) => address), login: user, text })
        done()
      })
    },
    ...options,
  })
  server.on('error', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  t.teardown(() => new Promise<void>((resolve) => server.close(resolve)))
  return { received, port: (server.server.address() as AddressInfo).port }
}

/** Returns the decoded parts of a message. */
function decoded(text: string): string {
  return text
    .replace(/=\r\n/g, '')
    .replace(/(?:=[0-9A-F]{2})+/g, (bytes) => Buffer.from(bytes.replaceAll('=', ''), 'hex').toString('utf8'))
}

t.test('delivers an email to a real SMTP server, with the link as text and HTML in both languages', async (t) => {
  const { received, port } = await mailServer(t)
  const from = 'Ödeme <no-reply@pay.example>'
  await createSmtp({ url: `smtp://user:pass%20word@127.0.0.1:${port}`, from }).sendEmail(email)
  t.equal(received.length, 1)
  const { text, ...envelope } = received[0]!
  t.same(envelope, { from: 'no-reply@pay.example', to: ['ada@example.com'], login: 'user' })
  const body = decoded(text)
  t.equal(body.split(link).length - 1, 2, 'the link, as text')
  t.equal(body.split(link.replace('&', '&amp;')).length - 1, 2, 'the link, as buttons')
  t.match(body, /Confirm the device/)
  t.match(body, /Cihazı onayla/)
  t.match(body, 'Çiçek &amp; &lt;b&gt;Söhne&lt;/b&gt;', 'escapes the name')
  t.match(text, /^auto-submitted: auto-generated/im)
})

t.test('throws an error without the link if the mail server rejects the message, hangs up or is missing', async (t) => {
  const refusing = (message: string) => ({
    onRcptTo: (_address: unknown, _session: unknown, done: (error: Error) => void) => done(new Error(message)),
  })
  const servers = [
    await mailServer(t, refusing(`no such user: ${link}`)),
    await mailServer(t, {
      onData: (stream, _session, done) => {
        stream.resume().on('end', () => done(new Error(`rejected as spam: ${link}`)))
      },
    }),
    await mailServer(t, { onConnect: (_session, done) => done(new Error('go away')) }),
  ]
  const urls = servers.map(({ port }) => `smtp://127.0.0.1:${port}`)
  const wrongLogin = await mailServer(t)
  for (const url of [...urls, `smtp://user:wrong-canary-link@127.0.0.1:${wrongLogin.port}`, 'smtp://127.0.0.1:1']) {
    const error = await createSmtp({ url, from: 'a@pay.example' })
      .sendEmail(email)
      .catch((error: unknown) => error)
    t.ok(error instanceof MessageNotSentError, url)
    t.notMatch(`${(error as Error).stack} ${(error as Error).cause}`, secrets)
    t.notMatch(String(error), /ada@example/)
  }
})

t.test('sends nothing without TLS to a server on another machine', async (t) => {
  // The name resolves to loopback but does not look like it. The rule uses the configured name.
  const { received, port } = await mailServer(t)
  const smtp = createSmtp({ url: `smtp://user:pass%20word@0.0.0.0:${port}`, from: 'a@pay.example' })
  await t.rejects(smtp.sendEmail(email), { name: 'MessageNotSentError', message: /ETLS/ })
  t.equal(received.length, 0)
})

t.test(
  'accepts a self-signed certificate of a local relay that offers TLS, but not of a server over TLS',
  async (t) => {
    const relay = await mailServer(t, { disabledCommands: [] })
    await createSmtp({ url: `smtp://127.0.0.1:${relay.port}`, from: 'a@pay.example' }).sendEmail(email)
    t.equal(relay.received.length, 1)
    const overTls = await mailServer(t, { secure: true })
    const smtp = createSmtp({ url: `smtps://127.0.0.1:${overTls.port}`, from: 'a@pay.example' })
    await t.rejects(smtp.sendEmail(email), MessageNotSentError)
    t.equal(overTls.received.length, 0)
  },
)

t.test('stops waiting for a mail server that does not respond, or sends single bytes slowly', async (t) => {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    const drip = setInterval(() => socket.write('2'), 20)
    socket.on('close', () => clearInterval(drip))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`
  await t.rejects(createSmtp({ url, from: 'a@pay.example' }, 1_000).sendEmail(email), MessageNotSentError)
  // This would hang if the connection were still open.
  server.close()
  await once(server, 'close')
})

async function gateway(t: Test, respond: (response: ServerResponse) => void) {
  const requests: { method: string | undefined; token: string | undefined; body: string }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    requests.push({ method: request.method, token: request.headers.authorization, body })
    respond(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { requests, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/send` }
}

t.test('posts an SMS to the gateway as the contract specifies', async (t) => {
  const { requests, url } = await gateway(t, (response) => response.writeHead(202).end())
  await createSmsGateway({ url, token: 'sms-token' }).sendSms(sms)
  t.equal(requests.length, 1)
  t.match(requests[0], { method: 'POST', token: 'Bearer sms-token' })
  t.same(JSON.parse(requests[0]!.body), { to: '+905551234567', text: sms.text })
})

t.test('an SMS contains the code, merchant and amount in both languages within one message', async (t) => {
  t.equal(
    sms.text,
    '730914: Cicek & <b>Sohne</b>, 1234.50 TRY. Your payment code. Do not share it. / Odeme kodunuz, kimseyle paylasmayin.',
  )
  const texts = ['Işık Mağazası Ürünleri', 'Ærø Købmand', `Shop\r\nPay to ${'x'.repeat(500)}`].map(
    (merchantName) => codeSms('+905551234567', '730914', { merchantName, amountMinor: 99_999_999_99n }, lira).text,
  )
  for (const text of [sms.text, ...texts]) {
    t.ok(text.length <= 160, `${text.length}`)
    t.match(text, /^[\x20-\x7e]+$/, 'no character outside GSM-7, which would halve the capacity of an SMS')
  }
  t.match(texts[0], 'Isik Magazasi Urunleri')
  t.match(texts[1], 'AEro Kobmand')
  const japanese = codeSms(
    '+81',
    '730914',
    { merchantName: '花屋', amountMinor: 150_000n },
    { code: 'JPY', decimals: 0 },
  )
  t.match(
    japanese.text,
    /^730914: 花屋, 1500 JPY\. /,
    'a name in another script is unchanged, and the amount has no decimals',
  )
})

t.test('an email contains the merchant and the amount', async (t) => {
  for (const body of [email.text, email.html]) t.equal(body.split('1234.50 TRY').length - 1, 2, 'in both languages')
})

t.test(
  'sends one request to a gateway that rejects, redirects or fails, and throws an error without the code',
  async (t) => {
    const wrong: ((response: ServerResponse) => void)[] = [
      (response) => response.writeHead(400).end('730914'),
      (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
      (response) => response.writeHead(500).end(),
      (response) => response.socket?.resetAndDestroy(),
      (response) => response.writeHead(200).end('x'.repeat(100_000)),
    ]
    for (const respond of wrong) {
      const { requests, url } = await gateway(t, respond)
      const error = await createSmsGateway({ url, token: 'sms-token' })
        .sendSms(sms)
        .catch((error: unknown) => error)
      t.ok(error instanceof MessageNotSentError)
      t.notMatch(`${(error as Error).stack}`, /730914|sms-token|5551234567/)
      t.equal(requests.length, 1)
    }
  },
)

t.test('limits the length of a merchant’s name in an email and removes its line breaks', async (t) => {
  const { text, html, subject } = deviceEmail(
    'ada@example.com',
    link,
    { merchantName: `Shop\r\nBcc: eve@example.com${'x'.repeat(500)}`, amountMinor: 1n },
    lira,
    'pay.example',
  )
  t.notMatch(text, /^Bcc/m)
  t.notMatch(html, /^Bcc/m)
  t.notMatch(subject, /Shop/)
  t.notMatch(text, 'x'.repeat(100))
})

t.test('the outbox keeps the newest 200 messages, sealed and newest first', async (t) => {
  const directory = tempDirectory(t)
  const readModels = await openEmbeddedReadModels({ directory })
  const masterKey = randomBytes(32)
  const open = (key: Buffer) => new Outbox(readModels, createSecretBox(key), () => '2026-03-01T10:00:00.000Z')
  const outbox = open(masterKey)
  t.same(await outbox.list(), [])
  await outbox.sendEmail(email)
  for (let code = 0; code < 205; code++)
    await outbox.sendSms(codeSms('+905551234567', String(700_000 + code), payment, lira))
  const list = await outbox.list()
  t.equal(list.length, 200)
  t.same(list[0], { kind: 'sms', to: '+905551234567', code: '700204', link: null, at: '2026-03-01T10:00:00.000Z' })
  t.equal(list.at(-1)?.code, '700005')
  await outbox.sendEmail(email)
  t.same((await outbox.list())[0], { kind: 'email', to: 'ada@example.com', code: null, link, at: list[0]?.at })
  t.same(await open(randomBytes(32)).list(), [], 'a different key opens no message')
  t.equal((await open(masterKey).list()).length, 200, 'another process lists the same messages')
  await readModels.close()
  for (const file of readdirSync(directory)) {
    const bytes = readFileSync(join(directory, file), 'latin1')
    t.notMatch(bytes, /canary-link|700204|ada@example|905551234567/, file)
  }
})

t.test('without a gateway, sandbox messages go to the outbox and others are not sent', async (t) => {
  const sent: string[] = []
  const to = (name: string) => ({
    sendSms: async () => void sent.push(`${name} sms`),
    sendEmail: async () => void sent.push(`${name} email`),
  })
  let isSandbox = true
  const routes = { outbox: to('outbox'), isSandbox: () => isSandbox }
  const none = routeMessages({ ...routes, email: undefined, sms: undefined })
  const half = routeMessages({ ...routes, email: to('smtp'), sms: undefined })
  await none.sendSms(sms)
  await none.sendEmail(email)
  await half.sendEmail(email)
  for (const messages of [none, half]) t.equal(messages.unpreparedReason(), undefined)
  isSandbox = false
  t.match(none.unpreparedReason(), /SMS_URL is not set; .*SMTP_URL is not set/)
  t.match(half.unpreparedReason(), /^codes cannot be sent by SMS: SMS_URL is not set$/)
  t.equal(routeMessages({ ...routes, email: to('smtp'), sms: to('sms') }).unpreparedReason(), undefined)
  await t.rejects(none.sendSms(sms), { name: 'MessageNotSentError', message: 'SMS_URL is not set' })
  await t.rejects(none.sendEmail(email), { name: 'MessageNotSentError', message: 'SMTP_URL is not set' })
  await half.sendEmail(email)
  t.same(sent, ['outbox sms', 'outbox email', 'smtp email', 'smtp email'])
})
