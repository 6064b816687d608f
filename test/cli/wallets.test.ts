import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { runCli as runProcess, temporaryDirectory } from '../support/processes.js'
import { program } from '../support/program.js'
import { cliJson, runCli } from './in-process.js'

const account = ['--email', 'Ada@Example.com', '--password', '481516', '--phone', '+905551234567']
interface Opened {
  readonly accountNumber: number
}

t.test('opens an account, credits it once per reference, and shows its movements', async (t) => {
  const directory = temporaryDirectory(t)
  const opened = await cliJson<Opened>(directory, 'wallets', 'open', ...account, '--balance', '500.00')
  t.same(Object.keys(opened), ['accountNumber'])
  const number = String(opened.accountNumber)
  t.match(number, /^[1-9]\d{11}$/)
  const credit = (...options: string[]) => cliJson(directory, 'wallets', 'credit', number, ...options)
  const first = {
    accountNumber: opened.accountNumber,
    reference: 'top-up 1',
    amount: 95.5,
    balance: 595.5,
    currency: 'TRY',
  }
  t.same(await credit('--amount', '95.50', '--reference', 'top-up 1'), { ...first, changed: true })
  t.same(await credit('--amount', '95.50', '--reference', 'top-up 1'), { ...first, changed: false })
  t.match(await credit('--amount', '0.01'), { balance: 595.51, changed: true, reference: /^[0-9a-f-]{36}$/ })
  const other = await runCli(directory, ['wallets', 'credit', number, '--amount', '1', '--reference', 'top-up 1'])
  t.same([other.status, other.stdout], [1, ''])
  t.match(other.stderr, /different amount/)
  t.match(await cliJson(directory, 'wallets', 'show', number), {
    accountNumber: opened.accountNumber,
    email: 'ada@example.com',
    phone: '+905551234567',
    balance: 595.51,
    currency: 'TRY',
    sandbox: false,
    trustedDevices: [],
    movements: [
      { kind: 'credit', amount: 0.01 },
      { kind: 'credit', amount: 95.5, reference: 'top-up 1' },
      { kind: 'credit', amount: 500, reference: 'opening balance' },
    ],
  })
})

t.test('an email has one account in any case, even if two are opened concurrently', async (t) => {
  const directory = temporaryDirectory(t)
  const emails = ['ada@example.com', 'ADA@example.com', 'Ada@Example.Com']
  const results = await Promise.all(
    emails.map((email) =>
      runProcess(directory, ['wallets', 'open', '--email', email, ...account.slice(2), '--balance', '1', '--json']),
    ),
  )
  t.same(results.map(({ status }) => status).sort(), [0, 1, 1])
  for (const { status, stderr } of results) if (status === 1) t.match(stderr, /email address is already in use/)
})

t.test('reads the password from stdin and prints it nowhere', async (t) => {
  const directory = temporaryDirectory(t)
  const options = ['--email', 'ada@example.com', '--password', '-', '--phone', '+905551234567', '--json']
  const open = async (input: string) => {
    const child = spawn(process.execPath, [program, 'wallets', 'open', ...options], {
      cwd: directory,
      env: { PATH: process.env.PATH },
    })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.stdin.on('error', () => undefined).end(input)
    const [status] = await once(child, 'close')
    return { status, output }
  }
  for (const [wrong, message] of [
    ['', /must be 6 digits/],
    ['1234567\n', /must be 6 digits/],
    ['123456\n', /too easy to guess/],
  ] as const) {
    const { status, output } = await open(wrong)
    t.equal(status, 2)
    t.match(output, message)
    t.notMatch(output, /12345/)
  }
  const { status, output } = await open('730914\n')
  t.equal(status, 0, output)
  t.match(output, /"accountNumber":\d{12}/)
  t.notMatch(output, /730914/)
})

t.test('trusts a device of an existing merchant once', async (t) => {
  const directory = temporaryDirectory(t)
  const { accountNumber } = await cliJson<Opened>(directory, 'wallets', 'open', ...account)
  const shop = ['--name', 'Shop', '--callback-url', 'https://shop.example/callbacks', '--allow-ip', '192.0.2.1']
  const { id } = await cliJson<{ id: string }>(directory, 'merchants', 'create', ...shop)
  const trust = (merchant: string) =>
    runCli(directory, [
      'wallets',
      'trust-device',
      `${accountNumber}`,
      '--merchant',
      merchant,
      '--user',
      '8412',
      '--json',
    ])
  t.match(JSON.parse((await trust(id)).stdout), { accountNumber, changed: true, device: /^[\w-]{43}$/ })
  t.match(JSON.parse((await trust(id)).stdout), { changed: false })
  t.match(await trust('4c8b9b8a-0000-4000-8000-000000000000'), { status: 1, stderr: /Merchant not found/ })
  const shown = await cliJson<{ trustedDevices: string[] }>(directory, 'wallets', 'show', String(accountNumber))
  t.equal(shown.trustedDevices.length, 1)
})

t.test('reports the reason of a rejection', async (t) => {
  const directory = temporaryDirectory(t)
  await cliJson(directory, 'wallets', 'open', ...account)
  const wrong: [string[], number, RegExp][] = [
    [['wallets', 'show', '123456789012'], 1, /(Wallet account not found|no such wallet account)/],
    [['wallets', 'credit', '123456789012', '--amount', '5'], 1, /(Wallet account not found|no such wallet account)/],
    [['wallets', 'show', 'abc'], 2, /whole number/],
    [['wallets', 'credit', '123456789012', '--amount', '0'], 2, /amount above 0/],
    [['wallets', 'credit', '123456789012', '--amount', '1', '--reference', ''], 2, /1 to 64/],
    [['wallets', 'open', '--email', 'ada', ...account.slice(2)], 2, /email\s+address/],
    [['wallets', 'open', ...account, '--balance', '-5'], 2, /amount/],
    [['wallets', 'open', ...account.slice(0, 4), '--phone', '0555 123'], 2, /\+905551234567/],
  ]
  await Promise.all(
    wrong.map(async ([args, status, reason]) => {
      const finished = await runCli(directory, args)
      t.equal(finished.status, status, args.join(' '))
      t.match(finished.stderr, reason)
      t.equal(finished.stdout, '')
    }),
  )
  const core = { WALLET_URL: 'https://wallet.example', WALLET_TOKEN: 't' }
  t.match(await runCli(directory, ['wallets', 'open', ...account], core), { status: 1, stderr: /wallet core/ })
})

t.test('the outbox exists only in the sandbox and is empty initially', async (t) => {
  const directory = temporaryDirectory(t)
  await cliJson(directory, 'wallets', 'open', ...account)
  t.same(await cliJson(directory, 'outbox', 'list'), [])
  t.match(await runCli(directory, ['outbox', 'list'], { SANDBOX: 'off' }), {
    status: 1,
    stderr: /only in sandbox mode/,
  })
  await cliJson(
    directory,
    'merchants',
    'create',
    '--name',
    'L',
    '--callback-url',
    'https://l.example',
    '--allow-ip',
    '::1',
  )
  t.match(await runCli(directory, ['outbox', 'list']), { status: 1, stderr: /only in sandbox mode/ })
})
