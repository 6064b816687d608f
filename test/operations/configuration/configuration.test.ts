import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { namesOf } from '../../../src/domain/payment-method.js'
import {
  ConfigurationError,
  environmentSchema,
  readConfiguration,
} from '../../../src/operations/configuration/configuration.js'
import { openListsAndReceipts, openReadModels } from '../../../src/operations/stores/stores.js'
import { hasReceipt, storeReceipt } from '../../../src/read-models/receipts.js'
import { configurationPage, secretVariables } from './configuration-page.js'

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfiguration(environment)
    return []
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems
    throw error
  }
}

t.test('accepts an empty environment', async (t) => {
  const configuration = readConfiguration({})
  t.match(configuration, {
    host: '127.0.0.1',
    port: 3000,
    publicUrl: undefined,
    masterKey: { from: 'data directory' },
    sandbox: 'auto',
  })
  t.strictSame(configuration.eventStore, { engine: 'embedded', directory: resolve('data') })
  t.equal(configuration.dataDirectory, resolve('data'))
  t.same(configuration.readModels, { engine: 'embedded', directory: resolve('data') })
  t.same(
    configuration.paymentMethods.map(({ code, name }) => [code, name]),
    [
      [1, 'Wallet'],
      [2, 'Bank transfer'],
      [3, 'Card'],
    ],
  )
})

t.test('counts an empty variable as unset', async (t) => {
  const empty = Object.keys(environmentSchema.properties).map((name) => [name, ' '])
  t.same(readConfiguration(Object.fromEntries(empty)), readConfiguration({}))
})

t.test('traces only to a collector that is not disabled', async (t) => {
  const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }
  t.equal(readConfiguration({}).traced, false)
  t.equal(readConfiguration(collector).traced, true)
  t.equal(readConfiguration({ ...collector, OTEL_SDK_DISABLED: 'true' }).traced, false)
})

t.test('uses all roles by default, and reports an empty list or an unknown role', async (t) => {
  t.same([...readConfiguration({}).roles], ['api', 'projections', 'callbacks'])
  t.same([...readConfiguration({ ROLES: ' callbacks, projections,callbacks ' }).roles], ['callbacks', 'projections'])
  for (const value of ['worker', 'api,', ',', 'API', 'api projections'])
    t.match(problemsOf({ ROLES: value }), [/^ROLES must be one of api, projections, callbacks, not "/], value)
})

t.test('reports all problems together, each with its variable', async (t) => {
  const problems = problemsOf({
    ROLES: 'api,everything',
    HOST: 'a b',
    PORT: '70000',
    PUBLIC_URL: 'ftp://example.com',
    INSTALLATION_NAME: 'pay\u200b',
    EVENT_STORE_URL: './data',
    READ_MODEL_URL: 'embedded:',
    KEY_STORE_URL: 'embedded://keys',
    TRANSFERD_MASTER_KEY: 'short',
    AUDIT_GROUP_READABLE: 'yes',
    AUDIT_ORIGIN: 'two words',
    AUDIT_COPY_TO: 'http://copies.example/log',
    AUDIT_WITNESSES: 'https://witness.example key',
    TRUSTED_PROXIES: '10.0.0.0/8, nonsense',
    MAX_CONNECTIONS: '0',
    MAX_CONNECTIONS_PER_ADDRESS: 'many',
    LOG_LEVEL: 'loud',
    PAYMENT_METHODS: '[]',
    SANDBOX: 'maybe',
    CALLBACK_TIMEOUT_MS: '1e3',
    CALLBACK_ALLOWED_NETWORKS: '10.0.0.0/33',
    COMPLETION_GUARD_FACTOR: '0',
    CORRECTION_DAYS: '366',
    WALLET_URL: 'http://wallet.example',
    WALLET_TOKEN: 'not a token',
    WALLET_TIMEOUT_MS: '1',
    SMTP_URL: 'mail.example.com',
    MAIL_FROM: 'no address',
    SMS_URL: 'https://sms.example/?key=secret',
    SMS_TOKEN: 'ı',
    CURRENCY: 'lira',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://ada:secret@collector',
    OTEL_SDK_DISABLED: 'perhaps',
  })
  t.same(
    problems.map((problem) => problem.split(' ')[0]),
    // Any path is a valid directory, and any text a valid command.
    Object.keys(environmentSchema.properties).filter((name) => !/DIRECTORY$|COMMAND$/.test(name)),
    'the environment above has an invalid value of each variable, in the order of the schema',
  )
})

t.test('reports an engine that this build does not include', async (t) => {
  const [store, models] = problemsOf({ EVENT_STORE_URL: 'kafka://db', READ_MODEL_URL: 'postgres://db/transferd' })
  t.match(store, /EVENT_STORE_URL is kafka:: use embedded:<directory> or esdb:/)
  t.match(models, /READ_MODEL_URL is postgres:: use embedded:<directory> or mongodb:/)
})

t.test(
  'keeps keys and receipts with the read models on a server, in the data directory, or where KEY_STORE_URL says',
  async (t) => {
    const located = (environment: { readonly [name: string]: string }) => {
      const { keyStore, receipts } = readConfiguration(environment)
      return [keyStore, receipts]
    }
    const embedded = (name: string) => ({ engine: 'embedded', directory: resolve(name) })
    const server = (url: string) => ({ engine: 'mongodb', url })
    const onServer = { READ_MODEL_URL: 'mongodb://db/lists' }
    t.same(located({ EVENT_STORE_URL: 'embedded:log', READ_MODEL_URL: 'embedded:lists' }), [
      embedded('log'),
      embedded('lists'),
    ])
    t.same(located(onServer), [server('mongodb://db/lists'), server('mongodb://db/lists')])
    t.same(located({ ...onServer, KEY_STORE_URL: 'mongodb://db/keys' }), [
      server('mongodb://db/keys'),
      server('mongodb://db/keys'),
    ])
    t.same(located({ ...onServer, KEY_STORE_URL: 'embedded:keys' }), [embedded('keys'), embedded('keys')])
  },
)

t.test('stores receipts in the place of their own, and lists elsewhere', async (t) => {
  const lists = { engine: 'embedded', directory: t.testdir() } as const
  const receipts = { engine: 'embedded', directory: join(lists.directory, 'receipts') } as const
  const both = await openListsAndReceipts({ readModels: lists, receipts })
  const sha256 = await storeReceipt(both, Buffer.from('%PDF-1.7'), '2026-03-01T12:00:00.000Z')
  await both.collection('transfers').bulkWrite([{ insertOne: { document: { _id: 'a', position: 1, listed: true } } }])
  t.same([...(await both.listCollections())].sort(), ['receipts', 'transfers'])
  t.ok(await hasReceipt(both, sha256!))
  await both.close()
  const collections = async (location: typeof lists | typeof receipts) => {
    const opened = await openReadModels(location)
    return opened.listCollections().finally(() => opened.close())
  }
  t.same([await collections(lists), await collections(receipts)], [['transfers'], ['receipts']])
})

t.test('reads the URL of a log on EventStoreDB, and a separate directory for the files of the node', async (t) => {
  for (const url of ['esdb://admin:pass@a:2113,b:2113?tls=true', 'esdb+discover://cluster.example:2113']) {
    const { eventStore, dataDirectory } = readConfiguration({ EVENT_STORE_URL: url })
    t.same(eventStore, { engine: 'eventstoredb', url })
    t.equal(dataDirectory, resolve('data'))
  }
  t.equal(readConfiguration({ EVENT_STORE_URL: 'esdb://a', DATA_DIRECTORY: '/srv/node' }).dataDirectory, '/srv/node')
  t.equal(
    readConfiguration({ EVENT_STORE_URL: 'embedded:/srv/log', DATA_DIRECTORY: '/srv/x' }).dataDirectory,
    '/srv/log',
  )
})

t.test('reads the URL of read models on MongoDB, which no problem contains', async (t) => {
  for (const url of ['mongodb://user:pass@a:27017,b/transferd?replicaSet=rs0&tls=true', 'mongodb+srv://db.example/x'])
    t.same(readConfiguration({ READ_MODEL_URL: url }).readModels, { engine: 'mongodb', url })
  for (const url of ['mongodb:', 'mongodb://', 'mongodb:secret', 'mongodb://user:secret @host/x']) {
    const problems = problemsOf({ READ_MODEL_URL: url })
    t.match(problems, [/must name a server and a database/])
    t.notMatch(problems.join(), /secret/)
  }
})

t.test('reports a URL that the driver cannot parse, without its password', async (t) => {
  const url = 'mongodb://user:secret@host:port/x'
  const error = await openReadModels({ engine: 'mongodb', url }).catch((error: unknown) => error)
  t.ok(error instanceof ConfigurationError)
  t.match(String(error), /READ_MODEL_URL or KEY_STORE_URL cannot be used/)
  t.notMatch(String(error), /secret/)
})

t.test('rejects a directory that looks relative but would be absolute', async (t) => {
  t.match(problemsOf({ EVENT_STORE_URL: 'embedded://data' }), [/must be embedded:<directory>/])
  t.equal(readConfiguration({ EVENT_STORE_URL: 'embedded:///srv/data' }).dataDirectory, '/srv/data')
})

t.test('accepts a master key of 32 bytes in hexadecimal or base64, which no problem contains', async (t) => {
  const hex = 'ab'.repeat(32)
  const bytes = Buffer.from(hex, 'hex')
  const keysOf = (text: string) => readConfiguration({ TRANSFERD_MASTER_KEY: text }).masterKey
  t.same(keysOf(hex), { from: 'environment', keys: [bytes] })
  t.same(keysOf(bytes.toString('base64')), { from: 'environment', keys: [bytes] })
  const second = 'cd'.repeat(32)
  t.same(keysOf(`${hex}\n${second}`), { from: 'environment', keys: [bytes, Buffer.from(second, 'hex')] })
  const invalidCatalogues = [
    hex.slice(2),
    `${hex}00`,
    bytes.toString('base64').slice(4),
    `${hex.slice(1)}g`,
    `${hex} ${second.slice(1)}`,
  ]
  for (const wrong of invalidCatalogues) {
    const problems = problemsOf({ TRANSFERD_MASTER_KEY: wrong })
    t.equal(problems.length, 1)
    t.notOk(problems.join().includes(wrong))
  }
})

t.test('accepts one source of the master key', async (t) => {
  const places = {
    TRANSFERD_MASTER_KEY: 'ab'.repeat(32),
    TRANSFERD_MASTER_KEY_DIRECTORY: '/run/keys',
    TRANSFERD_MASTER_KEY_COMMAND: 'print-the-key',
  }
  for (const without of Object.keys(places)) {
    const problems = problemsOf({ ...places, [without]: undefined })
    t.match(problems, [/set only one of them/])
    t.notMatch(problems.join(), /abab/)
  }
})

t.test('keeps the path of PUBLIC_URL and removes its trailing slash', async (t) => {
  t.equal(readConfiguration({ PUBLIC_URL: 'https://example.com/pay/' }).publicUrl, 'https://example.com/pay')
  for (const wrong of [
    'example.com',
    'https://u:p@example.com',
    'https://example.com/?a=1',
    'https://example.com/a;b',
  ]) {
    t.equal(problemsOf({ PUBLIC_URL: wrong }).length, 1, wrong)
  }
})

t.test('requires the settings that a wallet core, a mail server and an SMS gateway depend on', async (t) => {
  t.match(readConfiguration({}), { wallet: { engine: 'built-in' }, messages: { email: undefined, sms: undefined } })
  const { wallet, messages } = readConfiguration({
    WALLET_URL: 'https://wallet.example/core/',
    WALLET_TOKEN: 'abc.def==',
    SMTP_URL: 'smtps://user:pa%20ss@mail.example:465',
    MAIL_FROM: 'Ödeme <no-reply@pay.example>',
    SMS_URL: 'http://[::1]:9000/send',
    SMS_TOKEN: 't',
  })
  t.same(wallet, { engine: 'http', url: 'https://wallet.example/core', token: 'abc.def==', timeoutMs: 10_000 })
  t.same(messages.email, { url: 'smtps://user:pa%20ss@mail.example:465', from: 'Ödeme <no-reply@pay.example>' })
  t.same(messages.sms, { url: 'http://[::1]:9000/send', token: 't' })
  t.match(problemsOf({ WALLET_URL: 'https://wallet.example' }), [/^WALLET_TOKEN must be set/])
  t.match(problemsOf({ SMTP_URL: 'smtp://mail.example' }), [/^MAIL_FROM must be an address/])
  t.match(problemsOf({ SMS_URL: 'https://sms.example' }), [/^SMS_TOKEN must be set/])
  t.match(problemsOf({ MAIL_FROM: 'a@b.example\r\nBcc: eve@example.com' }), [/^MAIL_FROM/])
})

t.test('no problem contains the address or the token of a wallet core', async (t) => {
  const secret = 'canary-secret'
  const wrong = [
    { WALLET_URL: `https://user:${secret}@wallet.example`, WALLET_TOKEN: 't' },
    { WALLET_TOKEN: `${secret} ${secret}` },
    { SMTP_URL: `imap://user:${secret}@mail.example`, MAIL_FROM: 'a@b.example' },
    { SMS_URL: `https://sms.example/?key=${secret}`, SMS_TOKEN: 't' },
  ]
  for (const environment of wrong) {
    t.equal(problemsOf(environment).length, 1)
    t.notMatch(problemsOf(environment).join(), secret)
  }
})

t.test('accepts currencies of ISO 4217 with two decimals or none', async (t) => {
  const currency = (CURRENCY?: string) => readConfiguration(CURRENCY === undefined ? {} : { CURRENCY }).currency
  t.strictSame(currency(), { code: 'TRY', decimals: 2 })
  t.strictSame(currency('EUR'), { code: 'EUR', decimals: 2 })
  // These are the decimals of ISO 4217. Intl returns the decimals that people commonly write.
  t.strictSame(currency('HUF'), { code: 'HUF', decimals: 2 })
  t.strictSame(currency('JPY'), { code: 'JPY', decimals: 0 })
  for (const [wrong, message] of [
    ['KWD', /has 3 decimals/],
    ['try', /is not a currency of ISO 4217/],
    ['TL', /is not a currency of ISO 4217/],
    ['ABC', /is not a currency of ISO 4217/],
  ] as const) {
    t.match(problemsOf({ CURRENCY: wrong }), [message], wrong)
  }
})

t.test('reads a catalogue of payment methods with its limits', async (t) => {
  const [method] = readConfiguration({
    PAYMENT_METHODS: '[{"code":7,"name":"Bank","kinds":["withdrawal"],"minAmount":10,"maxAmount":5000.5}]',
  }).paymentMethods
  t.same(method, {
    code: 7,
    name: 'Bank',
    nameTr: undefined,
    kinds: ['withdrawal'],
    paidBy: 'wallet',
    account: undefined,
    minAmountMinor: 10_00n,
    maxAmountMinor: 5_000_50n,
  })
})

t.test('a method is paid by wallet by default, and the default catalogue has one method of each kind', async (t) => {
  const paidBy = (environment: { readonly PAYMENT_METHODS?: string }) =>
    readConfiguration(environment).paymentMethods.map((method) => [method.name, method.paidBy])
  t.strictSame(paidBy({}), [
    ['Wallet', 'wallet'],
    ['Bank transfer', 'manual'],
    ['Card', 'manual'],
  ])
  const catalogue = [
    { code: 1, name: 'Old', kinds: ['deposit'] },
    { code: 2, name: 'Bank', kinds: ['deposit'], paidBy: 'manual' },
  ]
  t.strictSame(paidBy({ PAYMENT_METHODS: JSON.stringify(catalogue) }), [
    ['Old', 'wallet'],
    ['Bank', 'manual'],
  ])
})

t.test('the built-in methods have Turkish names, and other methods have the one in the catalogue', async (t) => {
  const turkish = (environment: { readonly PAYMENT_METHODS?: string }) =>
    readConfiguration(environment).paymentMethods.map((method) => namesOf(method).tr)
  t.strictSame(turkish({}), ['Cüzdan', 'Banka havalesi', 'Kart'])
  const catalogue = [
    { code: 1, name: 'Bank', nameTr: 'Banka', kinds: ['deposit'] },
    { code: 2, name: 'Voucher', kinds: ['deposit'] },
  ]
  t.strictSame(turkish({ PAYMENT_METHODS: JSON.stringify(catalogue) }), ['Banka', 'Voucher'])
})

t.test('the account of a manual method is stored in electronic form', async (t) => {
  const written = { name: 'Müller GmbH', iban: 'IBAN de89 3704 0044 0532 0130 00', bic: 'cobadeffxxx' }
  const entry = { code: 1, name: 'Bank', kinds: ['deposit'], paidBy: 'manual', account: written }
  const [method] = readConfiguration({ PAYMENT_METHODS: JSON.stringify([entry]) }).paymentMethods
  t.same(method?.account, { name: 'Müller GmbH', iban: 'DE89370400440532013000', bic: 'COBADEFFXXX' })
})

t.test('rejects a catalogue with an invalid entry and names its place', async (t) => {
  const good = { code: 1, name: 'A', kinds: ['deposit'] }
  const manual = { ...good, paidBy: 'manual' }
  const account = { name: 'Shop', iban: 'DE89370400440532013000' }
  const wrong: [unknown, RegExp][] = [
    [{}, /JSON array/],
    [[good, 3], /entry 2: must be an object/],
    [[{ ...good, code: 0 }], /entry 1: code/],
    [[{ ...good, name: '' }], /name/],
    [[{ ...good, kinds: ['refund'] }], /kinds/],
    [[{ ...good, paidBy: 'card' }], /paidBy/],
    [[{ ...good, nameTr: '' }], /nameTr/],
    [[{ ...good, nameTr: 'Kart\u202e' }], /nameTr/],
    [[{ ...good, minAmount: 2, maxAmount: 1 }], /minAmount/],
    [[{ ...manual, account: 'DE89370400440532013000' }], /entry 1: account must be an object with a name, an iban/],
    [[{ ...manual, account: { name: 'Shop' } }], /entry 1: account must be an object/],
    [[{ ...good, account }], /entry 1: account is for deposits that are paid manually/],
    [[{ ...manual, kinds: ['withdrawal'], account }], /account is for deposits/],
    [[{ ...manual, account: { ...account, name: '注文' } }], /account.name must contain a letter or digit that banks/],
    [[{ ...manual, account: { ...account, name: 'a'.repeat(71) } }], /account.name must have at most 70/],
    [[{ ...manual, account: { ...account, name: 'Shop\nLtd' } }], /account.name must not contain/],
    [[{ ...manual, account: { ...account, iban: 'DE89370400440532013001' } }], /account.iban must be a valid IBAN/],
    [[{ ...manual, account: { ...account, bic: 'COBA' } }], /account.bic must be a valid BIC of 8 or 11/],
    [[{ ...good, minAmount: 0.001 }], /minAmount/],
    [[good, good], /twice/],
  ]
  for (const [catalogue, problem] of wrong) {
    t.match(problemsOf({ PAYMENT_METHODS: JSON.stringify(catalogue) }), [problem], JSON.stringify(catalogue))
  }
  t.match(problemsOf({ PAYMENT_METHODS: '[{' }), [/JSON array/])
})

t.test('docs/reference/configuration.md matches the schema (npm run docs:configuration)', async (t) => {
  const page = readFileSync('docs/reference/configuration.md', 'utf8')
  t.equal(page, configurationPage(page), 'npm run docs:configuration writes the expected page')
  const documented = [...page.matchAll(/^- \*\*`([A-Z_]+)`\*\*(?: \(`(.*?)`\))?:/gm)].map(([, name, value = '']) => [
    name,
    value,
  ])
  t.same(
    documented,
    Object.entries(environmentSchema.properties).map(([name, { default: value }]) => [name, value]),
  )
})

t.test(
  'rejects trusted proxies that include nearly all addresses, because any caller could then forge its address',
  async (t) => {
    for (const ranges of ['0.0.0.0/0', '::/0', '0.0.0.0/1, 128.0.0.0/1', '2000::/3'])
      t.throws(() => readConfiguration({ TRUSTED_PROXIES: ranges }), /TRUSTED_PROXIES trusts too many/, ranges)
    t.same(readConfiguration({ TRUSTED_PROXIES: '10.0.0.0/8, fd00::/8' }).trustedProxies, ['10.0.0.0/8', 'fd00::/8'])
  },
)

t.test('reads the settings for storing, copying and cosigning the tree', async (t) => {
  const witness = `witness.example+0123abcd+B${'A'.repeat(43)}`
  const { audit } = readConfiguration({
    EVENT_STORE_URL: 'embedded:/srv/log',
    AUDIT_ORIGIN: 'pay.example.com/log',
    AUDIT_COPY_TO: 'https://us%65r:p%40ss@copies.example/log/',
    AUDIT_WITNESSES: `https://witness.example/w/ ${witness}, http://127.0.0.1:9 ${witness}`,
  })
  t.same(audit, {
    directory: '/srv/log/audit',
    isGroupReadable: false,
    origin: 'pay.example.com/log',
    copyTo: { kind: 'url', url: 'https://copies.example/log', authorization: `Basic ${btoa('user:p@ss')}` },
    witnesses: [
      { url: 'https://witness.example/w', verifierKey: witness },
      { url: 'http://127.0.0.1:9', verifierKey: witness },
    ],
  })
  t.same(readConfiguration({ AUDIT_COPY_TO: '/mnt/log' }).audit.copyTo, { kind: 'directory', directory: '/mnt/log' })
  t.notMatch(problemsOf({ AUDIT_COPY_TO: 'ftp://user:hunter2@copies.example' }).join(), /hunter2/)
})

t.test('reads every secret from a file without its trailing newline, and rejects a second source', async (t) => {
  const directory = t.testdir()
  const values = {
    EVENT_STORE_URL: 'esdb://user:hunter2@log.example:2113',
    READ_MODEL_URL: 'mongodb://user:hunter2@db.example/transferd',
    KEY_STORE_URL: 'mongodb://user:hunter2@keys.example/transferd',
    TRANSFERD_MASTER_KEY: 'ab'.repeat(32),
    AUDIT_COPY_TO: 'https://user:hunter2@copies.example/log',
    WALLET_TOKEN: 'hunter2-wallet',
    SMTP_URL: 'smtps://user:hunter2@mail.example',
    SMS_TOKEN: 'hunter2-sms',
  }
  t.same(Object.keys(values), secretVariables)
  const others = {
    WALLET_URL: 'https://wallet.example',
    MAIL_FROM: 'pay@shop.example',
    SMS_URL: 'https://sms.example',
  }
  const files = Object.entries(values).map(([name, value]) => {
    const path = join(directory, name)
    writeFileSync(path, `${value}\n`)
    return [`${name}_FILE`, path] as const
  })
  t.same(readConfiguration({ ...others, ...Object.fromEntries(files) }), readConfiguration({ ...others, ...values }))
  for (const [variable, path] of files) {
    const name = variable.replace(/_FILE$/, '')
    const both = problemsOf({ ...others, ...values, [variable]: path })
    t.same(both, [`${name} and ${name}_FILE are both set: remove one of them`])
    t.same(
      problemsOf({ [variable]: `${path}.gone` }).filter((problem) => problem.includes(path)),
      [`${name} cannot be read from the file ${path}.gone: ENOENT`],
    )
    writeFileSync(path, '\n')
    t.match(problemsOf({ [variable]: path }).join(), `${name} cannot be read from the file ${path}: it is empty`)
    writeFileSync(path, 'ı hunter2')
    t.notMatch(problemsOf({ [variable]: path }).join(), 'hunter2', 'no problem shows the contents of the file')
  }
  t.same(problemsOf({ PORT_FILE: '/nowhere' }), [], 'only secrets can come from a file')
})
