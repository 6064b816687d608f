import t from 'tap'
import { temporaryDirectory } from '../support/processes.js'
import { cliItems, cliJson, runCli } from './in-process.js'

interface MerchantResponse {
  readonly id: string
  readonly changed: boolean
  readonly [field: string]: unknown
}

const live = ['--name', 'Shop', '--callback-url', 'https://shop.example.com/callbacks']

t.test('create prints only the credentials and warns about a live merchant without an address', async (t) => {
  const directory = temporaryDirectory(t)
  const { status, stdout, stderr } = await runCli(directory, ['merchants', 'create', ...live, '--json'])
  t.equal(status, 0)
  const issued = JSON.parse(stdout)
  t.same(Object.keys(issued), ['id', 'webApiKey', 'secretKey', 'webhookSecret'])
  t.match(issued, { webApiKey: /^tk_/, secretKey: /^sk_/, webhookSecret: /^whsec_/ })
  t.match(stderr, /cannot make requests yet/)
  t.match(stderr, /generated .*master\.key/)
  const shown = await runCli(directory, ['merchants', 'show', issued.id])
  for (const secret of [issued.webApiKey, issued.secretKey, issued.webhookSecret]) {
    t.notOk(shown.stdout.includes(secret), 'show does not print the credentials')
  }
})

t.test('stores the given settings, and loopback for a sandbox merchant without an address', async (t) => {
  const directory = temporaryDirectory(t)
  const { id } = await cliJson<MerchantResponse>(
    directory,
    ...['merchants', 'create', '--sandbox', '--name', 'Try', '--callback-url', 'http://127.0.0.1:9/cb'],
    ...['--rate-limit', '7', '--auto-cancel-mismatch', '--mismatch-tolerance', '0.50', '--min-amount', '2.00'],
    ...['--max-amount', '99.99', '--deposit-expiry-minutes', '15', '--require-signature'],
  )
  t.match(await cliJson(directory, 'merchants', 'show', id), {
    name: 'Try',
    sandbox: true,
    allowIps: ['127.0.0.0/8', '::1'],
    rateLimitPerSecond: 7,
    autoCancelMismatch: true,
    mismatchTolerance: 0.5,
    minAmount: 2,
    maxAmount: 99.99,
    depositExpiryMinutes: 15,
    requireSignature: 'all',
    requireNativeHash: false,
    suspended: false,
  })
  t.equal((await cliItems<MerchantResponse>(directory, 'merchants', 'list')).length, 1)
})

t.test('set changes the named settings, resets them with --no-…, and reports an unchanged merchant', async (t) => {
  const directory = temporaryDirectory(t)
  const { id } = await cliJson<MerchantResponse>(directory, 'merchants', 'create', ...live, '--allow-ip', '192.0.2.1')
  const set = (...options: string[]) => cliJson<MerchantResponse>(directory, 'merchants', 'set', id, ...options)
  t.match(await set('--allow-ip', '10.0.0.0/8', '--allow-ip', '2001:db8::/32', '--require-native-hash'), {
    changed: true,
    allowIps: ['10.0.0.0/8', '2001:db8::/32'],
    requireNativeHash: true,
    name: 'Shop',
  })
  t.match(await set('--require-native-hash'), { changed: false })
  t.match(await set('--manual-control-above', '500.00'), { changed: true, manualControlAbove: 500 })
  t.match(await set('--no-manual-control-above'), { changed: true, manualControlAbove: null })
  t.match(await set('--no-require-native-hash', '--no-allow-ip', '--mismatch-tolerance', '0'), {
    changed: true,
    allowIps: [],
    requireNativeHash: false,
  })
})

t.test('reads amounts as people type them, and rejects those that could be two', async (t) => {
  const directory = temporaryDirectory(t)
  const { id } = await cliJson<MerchantResponse>(directory, 'merchants', 'create', ...live, '--allow-ip', '192.0.2.1')
  const set = (amount: string) => runCli(directory, ['merchants', 'set', id, '--max-amount', amount])
  const typed = {
    '1 234.50': 1234.5,
    "1\u202f234'567": undefined,
    '1’235': 1235,
    '١٬٢٣٦٫٥٠': 1236.5,
    '１２３７\u200b': 1237,
  }
  for (const [text, amount] of Object.entries({
    ...typed,
    '1,234': undefined,
    '1.234': undefined,
    '12,50': undefined,
  })) {
    const { status, stdout, stderr } = await set(text)
    if (amount === undefined) t.match({ status, stderr }, { status: 2, stderr: /such as 1234\.50/ }, text)
    else t.match(stdout, `→ ${amount}\n`, text)
  }
})

t.test('set shows the previous and the new values', async (t) => {
  const directory = temporaryDirectory(t)
  const { id } = await cliJson<MerchantResponse>(directory, 'merchants', 'create', ...live, '--allow-ip', '192.0.2.1')
  const set = (...options: string[]) => runCli(directory, ['merchants', 'set', id, ...options])
  const changed = await set('--allow-ip', '10.0.0.0/8', '--min-amount', '2.50', '--name', 'Shop')
  t.same([changed.status, changed.stderr], [0, ''])
  t.equal(changed.stdout, 'allowIps   192.0.2.1 → 10.0.0.0/8\nminAmount  1 → 2.5\n')
  t.equal((await set('--name', 'Shop')).stdout, 'nothing changed\n')
})

t.test(
  'withdrawals of a new live merchant require a signature by default, and sandbox withdrawals do not',
  async (t) => {
    const directory = temporaryDirectory(t)
    const created = async (...options: string[]) => {
      const { id } = await cliJson<MerchantResponse>(directory, 'merchants', 'create', ...live, ...options)
      return cliJson<{ id: string; requireSignature: string }>(directory, 'merchants', 'show', id)
    }
    const { id, requireSignature } = await created()
    t.equal(requireSignature, 'withdrawals')
    t.match(await created('--sandbox'), { requireSignature: 'none' })
    t.match(await created('--no-require-signature'), { requireSignature: 'none' })
    t.match(await created('--require-signature', 'all'), { requireSignature: 'all' })
    const set = (...options: string[]) => cliJson(directory, 'merchants', 'set', id, ...options)
    t.match(await set('--require-signature'), { requireSignature: 'all' })
    t.match(await set('--name', 'Other'), { requireSignature: 'all' })
    t.match(await set('--no-require-signature'), { requireSignature: 'none' })
    t.match(await set('--require-signature', 'withdrawals'), { requireSignature: 'withdrawals' })
  },
)

t.test('stores instructions line by line, and only for manual payment methods of the catalogue', async (t) => {
  const directory = temporaryDirectory(t)
  const { id } = await cliJson<MerchantResponse>(directory, 'merchants', 'create', ...live)
  const set = (...options: string[]) => runCli(directory, ['merchants', 'set', id, ...options])
  t.equal((await set('--instructions', '2=To DE89 3704, \\nwith the reference')).status, 0)
  t.match(await cliJson(directory, 'merchants', 'show', id), {
    paymentInstructions: [{ paymentMethod: 2, text: 'To DE89 3704, \nwith the reference' }],
  })
  for (const wrong of [
    '1=a wallet pays',
    '77=unknown',
    '2=',
    '2',
    `2=${'x'.repeat(2_001)}`,
    '2=turned \u202e around',
  ]) {
    t.equal((await set('--instructions', wrong)).status, 2, wrong.slice(0, 20))
  }
  t.equal((await set('--instructions', '2=a', '--instructions', '2=b')).status, 2)
  t.match(await cliJson(directory, 'merchants', 'set', id, '--no-instructions'), { paymentInstructions: [] })
})

t.test('rejects a forbidden callback URL of a live merchant and of one that goes live', async (t) => {
  const directory = temporaryDirectory(t)
  const wrong = ['http://shop.example.com/', 'https://127.0.0.1/', 'https://10.1.2.3/', 'not a url']
  for (const url of wrong) {
    const { status, stdout } = await runCli(directory, ['merchants', 'create', '--name', 'X', '--callback-url', url])
    t.same([status, stdout], [2, ''], url)
  }
  const sandbox = ['--sandbox', '--name', 'Try', '--callback-url', 'http://127.0.0.1:9/cb']
  const { id } = await cliJson<MerchantResponse>(directory, 'merchants', 'create', ...sandbox)
  t.equal((await runCli(directory, ['merchants', 'set', id, '--no-sandbox'])).status, 2)
  t.match(await cliJson(directory, 'merchants', 'show', id), { sandbox: true })
  t.equal((await runCli(directory, ['merchants', 'set', id])).status, 2, 'requires at least one setting')
  const bounds = ['--min-amount', '5', '--max-amount', '4']
  t.equal(
    (await runCli(directory, ['merchants', 'set', id, ...bounds])).status,
    2,
    'rejects a minimum above the maximum',
  )
})

t.test('rotates one or both secrets and keeps the previous one valid for the overlap', async (t) => {
  const directory = temporaryDirectory(t)
  const issued = await cliJson<MerchantResponse>(directory, 'merchants', 'create', ...live, '--allow-ip', '192.0.2.1')
  const run = (...args: string[]) => cliJson<MerchantResponse>(directory, 'merchants', ...args)
  const key = await run('rotate-key', issued.id, '--overlap-minutes', '0', '--yes')
  t.same(Object.keys(key), ['id', 'webApiKey'])
  t.not(key.webApiKey, issued.webApiKey)
  const one = await run('rotate-secret', issued.id, '--only', 'webhookSecret', '--yes')
  t.same(Object.keys(one), ['id', 'webhookSecret'])
  const both = await run('rotate-secret', issued.id, '--yes')
  t.same(Object.keys(both), ['id', 'secretKey', 'webhookSecret'])
  const shown = await run('show', issued.id)
  t.match(shown.keys, [{ name: 'main', validUntil: null }])
  const overlapMs = Date.parse(String(shown.previousSecretKeyValidUntil)) - Date.now()
  t.ok(overlapMs > 1439 * 60_000 && overlapMs <= 1440 * 60_000, 'the overlap is one day by default')
})

t.test('rejects an unknown id with status 1 and the reason on stderr', async (t) => {
  const directory = temporaryDirectory(t)
  await cliJson(
    directory,
    'merchants',
    'create',
    '--name',
    'Shop',
    '--callback-url',
    'https://shop.example',
    '--sandbox',
  )
  const unknown = '00000000-0000-4000-8000-000000000000'
  const commands = [
    ['merchants', 'show', unknown],
    ['merchants', 'set', unknown, '--name', 'X'],
    ['merchants', 'rotate-key', unknown],
    ['merchants', 'keys', 'revoke', unknown, '000000000000', '--yes'],
    ['merchants', 'rotate-secret', unknown, '--yes'],
    ['merchants', 'suspend', unknown, '--yes'],
    ['callbacks', 'enable', unknown],
    ['callbacks', 'resend', unknown],
    ['callbacks', 'replay-parked', '--merchant', unknown],
    ['transfers', 'show', unknown],
    ['transfers', 'complete', unknown],
    ['transfers', 'cancel', unknown],
    ['events', 'show', unknown],
    ['projections', 'rebuild', 'nonsense'],
  ]
  for (const command of commands) {
    const { status, stdout, stderr } = await runCli(directory, [...command, '--json'])
    t.same([status, stdout], [1, ''], command.join(' '))
    t.match(stderr, /"code":"(unknown-(merchant|transfer|projection)|api-key-unknown)"/)
  }
})

t.test('checks the return URL and the frame ancestors of the payment page', async (t) => {
  const directory = temporaryDirectory(t)
  const { id } = await cliJson<MerchantResponse>(directory, 'merchants', 'create', ...live, '--allow-ip', '192.0.2.1')
  t.match(await cliJson(directory, 'merchants', 'show', id), { returnUrl: null, frameAncestors: [] })
  const set = (...options: string[]) => cliJson<MerchantResponse>(directory, 'merchants', 'set', id, ...options)
  const origins = ['https://shop.example.com', 'https://www.shop.example.com:8443']
  t.match(
    await set(
      '--return-url',
      'https://shop.example.com/basket?a=1',
      ...origins.flatMap((o) => ['--frame-ancestor', o]),
    ),
    { changed: true, returnUrl: 'https://shop.example.com/basket?a=1', frameAncestors: origins },
  )
  const wrong = [
    ['--return-url', 'javascript:alert(1)'],
    ['--return-url', 'http://shop.example.com'],
    ['--frame-ancestor', '*'],
    ['--frame-ancestor', 'https://*.example.com'],
    ['--frame-ancestor', 'https://shop.example.com/'],
    ['--frame-ancestor', 'http://shop.example.com'],
    ['--frame-ancestor', "https://a;script-src'x'.example"],
    Array.from({ length: 21 }, (_, i) => ['--frame-ancestor', `https://s${i}.example`]).flat(),
  ]
  for (const options of wrong) {
    const { status, stderr } = await runCli(directory, ['merchants', 'set', id, ...options])
    t.equal(status, 2, options.join(' '))
    t.match(stderr, /--return-url|--frame-ancestor/)
  }
  t.match(await set('--no-return-url', '--no-frame-ancestor'), { changed: true, returnUrl: null, frameAncestors: [] })
})
