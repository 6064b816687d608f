import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { normalEmail } from '../../src/domain/password-rules.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { InvalidWalletAccountError, WalletAccounts } from '../../src/wallet/built-in/wallet-accounts.js'
import { createHttpWallet } from '../../src/wallet/http/http-wallet.js'
import { runCli } from '../cli/in-process.js'
import { anyText } from '../support/any-text.js'
import { cheapPasswords } from '../support/cheap-passwords.js'
import { password, postSession, signInAs } from '../support/dashboard.js'
import { context } from '../support/embedded-store.js'
import { temporaryDirectory } from '../support/processes.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const email = 'admin@example.com'
/** Forms in which people copy the email above. They are the same account. */
const copied = {
  'a space without width': 'ad\u200bmin@example.com',
  'a mark that changes the direction': '\u202eadmin@example.com',
  'a soft hyphen': 'admin@exam\u00adple.com',
  'a byte order mark': '\ufeffadmin@example.com',
  'a no-break space': 'admin@example.com\u00a0',
  'a line feed': 'admin@example.com\n',
  'full-width letters': '\uff41\uff44\uff4d\uff49\uff4e@example.com',
  'a full-width sign': 'admin\uff20example.com',
  'an ideographic full stop': 'admin@example\u3002com',
  'a link': '<mailto:admin@example.com>',
}
/** Texts that a person reads as the email above, or that another program could turn into it. */
const lookAlikes = {
  'a Cyrillic letter': '\u0430dmin@example.com',
  'a Cyrillic letter in the domain': 'admin@ex\u0430mple.com',
  'a composed letter': 'adm\u00edn@example.com',
  'a decomposed letter': 'admi\u0301n@example.com',
  'a dotless i': 'adm\u0131n@example.com',
  'a dotted capital I': 'ADM\u0130N@example.com',
}

t.test('an email is only ASCII, and its form is the lower case of what was entered', async (t) => {
  const isPlain = (text: string) => /^[\x21-\x7e]+$/.test(text)
  fc.assert(
    fc.property(anyText({ minLength: 1, maxLength: 3 }), fc.nat(email.length), (inserted, at) => {
      const text = email.slice(0, at) + inserted + email.slice(at)
      const normal = normalEmail(text)
      const isKept = !isPlain(inserted) || normal === text.toLowerCase()
      return normal === undefined || (isPlain(normal) && isKept)
    }),
    { numRuns: 2_000 },
  )
  const isFullWidth = (code: number) => (code > 0xff00 && code < 0xff5f) || code === 0x3002 || code === 0xff61
  for (let code = 0x7f; code <= 0x10ffff; code++) {
    const text = `${String.fromCodePoint(code)}${email}`
    const normal = normalEmail(text)
    if (normal !== undefined && normal !== email && !isFullWidth(code)) t.fail(`accepts U+${code.toString(16)}`)
  }
  t.equal(normalEmail('mar\u212a@example.com'), undefined, 'the lower case of the Kelvin sign is k')
  t.equal(normalEmail(' Admin@EXAMPLE.com '), email)
  t.equal(normalEmail('admin@xn--exmple-cua.com'), 'admin@xn--exmple-cua.com')
  t.equal(normalEmail("o'neil+pay_1@mail.example.co"), "o'neil+pay_1@mail.example.co")
})

t.test('an email has the lengths and labels of RFC 5321', async (t) => {
  const longest = `a@${`${'b'.repeat(63)}.`.repeat(3)}${'c'.repeat(56)}.com`
  t.equal(longest.length, 254)
  t.equal(normalEmail(longest), longest)
  t.equal(normalEmail(`a${longest}`), undefined)
  t.ok(normalEmail(`${'a'.repeat(64)}@example.com`))
  t.equal(normalEmail(`${'a'.repeat(65)}@example.com`), undefined)
  t.ok(normalEmail(`a@${'b'.repeat(63)}.com`))
  for (const wrong of [`${'b'.repeat(64)}.com`, '-b.com', 'b-.com', 'b..com', '.com', 'com', 'com.', '[192.0.2.1]'])
    t.equal(normalEmail(`a@${wrong}`), undefined, wrong)
})

t.test('no user or wallet account has a look-alike, which signs in like an unknown email', async (t) => {
  const service = await startTestService()
  t.teardown(() => destroyTestService(service))
  const { app, users, store, secretBox, clock } = service
  const administrator = await signInAs(service, 'administrator')
  const user = { email: 'Admin@Example.com', name: 'A', role: 'administrator', merchantIds: null } as const
  t.ok((await users.create(user, context, password)).accepted)
  const accounts = new WalletAccounts(store, clock, secretBox, cheapPasswords)
  const customer = { password: '481516', phone: '+905551234567', openingBalanceMinor: 0n }
  t.ok((await accounts.open({ ...customer, email }, context)).accepted)
  const unknown = await postSession(app, { email: 'unknown@example.com', password })
  const refusal = { accepted: false, refusal: { field: 'email', rule: 'email-invalid' } }
  for (const [what, text] of Object.entries(lookAlikes)) {
    t.match(await users.create({ ...user, email: text }, context, password), refusal, what)
    await t.rejects(accounts.open({ ...customer, email: text }, context), InvalidWalletAccountError, what)
    t.equal(await users.findByEmail(text), undefined, what)
    t.strictSame(await accounts.authenticate(text, customer.password, 'm'), { known: undefined, matches: false }, what)
    const response = await postSession(app, { email: text, password })
    t.strictSame(response.json(), unknown.json(), what)
  }
  const created = await administrator.post('/users', {
    email: lookAlikes['a Cyrillic letter'],
    name: 'A',
    role: 'auditor',
  })
  t.equal(created.statusCode, 400)
  t.match(created.json().error.validationErrors, [{ members: ['email'], rule: 'email-invalid' }])
  t.equal((await postSession(app, { email: ' ADMIN@example.COM', password })).statusCode, 200)
  for (const [what, text] of Object.entries(copied)) {
    t.match(await users.create({ ...user, email: text }, context, password), { accepted: false }, what)
    t.equal((await postSession(app, { email: text, password })).statusCode, 200, what)
    t.match(await accounts.authenticate(text, customer.password, 'm'), { matches: true }, what)
  }
})

t.test('the commands refuse a look-alike and name the accepted form', async (t) => {
  const directory = temporaryDirectory(t)
  const problem = /an email address such as name@example\.com, in ASCII characters\. Enter an.*xn--/
  for (const text of Object.values(lookAlikes)) {
    const user = ['users', 'create', '--email', text, '--name', 'A', '--role', 'auditor']
    t.match(await runCli(directory, user), { status: 2, stderr: problem })
    const account = ['wallets', 'open', '--email', text, '--password', '481516', '--phone', '+905551234567']
    t.match(await runCli(directory, account), { status: 2, stderr: problem })
  }
})

t.test('a wallet core receives only the form by which attempts are counted', async (t) => {
  const received: unknown[] = []
  const core = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    received.push(JSON.parse(body).email)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"outcome":"accepted","accountNumber":1}')
  })
  await new Promise<void>((resolve) => core.listen(0, '127.0.0.1', resolve))
  t.teardown(() => core.close())
  const url = `http://127.0.0.1:${(core.address() as AddressInfo).port}`
  const wallet = createHttpWallet({ url, token: 't', timeoutMs: 60_000, currency: { code: 'EUR', decimals: 2 } })
  for (const text of Object.values(lookAlikes))
    t.strictSame(await wallet.logIn(text, '481516', 'merchant'), { outcome: 'refused' })
  t.match(await wallet.logIn(' Admin@Example.com', '481516', 'merchant'), { outcome: 'accepted' })
  for (const text of Object.values(copied)) await wallet.logIn(text, '481516', 'merchant')
  t.strictSame(received, Array(1 + Object.keys(copied).length).fill(email))
})

t.test('the sender of emails has no look-alike address and no hidden characters in its name', async (t) => {
  const read = (MAIL_FROM: string) => readConfiguration({ SMTP_URL: 'smtps://mail.example', MAIL_FROM })
  for (const text of Object.values({ ...lookAlikes, ...copied }))
    t.throws(() => read(`Payments <${text}>`), /MAIL_FROM must be/)
  t.throws(() => read(`Pay\u202ements <${email}>`), /MAIL_FROM must be/)
  for (const accepted of [email, `\u00d6deme <${email}>`]) t.equal(read(accepted).messages.email?.from, accepted)
})
