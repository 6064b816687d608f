import { randomBytes, randomUUID } from 'node:crypto'
import t from 'tap'
import { walletAccountStream } from '../../src/domain/streams.js'
import { type EventStore, StoreUnavailableError } from '../../src/event-store/event-store.js'
import { createPasswords, type Passwords, TooManyPasswordsError } from '../../src/security/passwords.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { createBuiltInWallet } from '../../src/wallet/built-in/built-in-wallet.js'
import { InvalidWalletAccountError, WalletAccounts } from '../../src/wallet/built-in/wallet-accounts.js'
import { MessageNotSentError, type Messages } from '../../src/wallet/messages.js'
import { WalletOutcomeUnknownError, WalletUnavailableError } from '../../src/wallet/wallet.js'
import { context, openTestStore } from '../support/embedded-store.js'

const customer = { email: 'ada@example.com', password: '481516', phone: '+905551234567', openingBalanceMinor: 1_000n }
const shop = 'merchant'
const silent: Messages = {
  unpreparedReason: () => undefined,
  sendSms: async () => undefined,
  sendEmail: async () => undefined,
}

interface Options {
  readonly store?: EventStore
  readonly passwords?: Passwords
  readonly messages?: Messages
  readonly isSandbox?: boolean
  readonly masterKey?: Buffer
  readonly newNumber?: () => number
}

/** Opens the accounts and the wallet on a store. Several on one store act as several processes. */
function parts(store: EventStore, options: Options = {}) {
  const box = createSecretBox(options.masterKey ?? Buffer.alloc(32, 7))
  const clock = () => new Date().toISOString()
  const accounts = new WalletAccounts(store, clock, box, options.passwords ?? countingPasswords(), options.newNumber)
  const { messages = silent, isSandbox = false } = options
  return {
    accounts,
    wallet: createBuiltInWallet({
      accounts,
      box,
      messages,
      currency: { code: 'TRY', decimals: 2 },
      installationName: 'pay.example',
      isSandbox: () => isSandbox,
    }),
    box,
  }
}

/** Does no work and counts its calls. */
function countingPasswords() {
  const counts = { hash: 0, verify: 0, secrets: new Set<string>() }
  const phc = (secret: string) => `$argon2id$test$${Buffer.from(secret).toString('base64url')}`
  return {
    counts,
    hash: async (secret: string) => {
      counts.hash++
      counts.secrets.add(secret)
      return phc(secret)
    },
    verify: async (hash: string, secret: string) => {
      counts.verify++
      counts.secrets.add(secret)
      return hash === phc(secret)
    },
  }
}

async function open(accounts: WalletAccounts, more: Partial<typeof customer & { sandbox: boolean }> = {}) {
  const result = await accounts.open({ ...customer, ...more }, context)
  if (!result.accepted) throw new Error(result.refusal.rule)
  return result.account.accountNumber
}

/** Returns the store with some failing calls. */
function failing(store: EventStore, methods: { readonly [name in 'appendInOrder' | 'readStream']?: () => void }) {
  return new Proxy(store, {
    get(target, name, receiver) {
      const value = Reflect.get(target, name, receiver)
      if (typeof value !== 'function') return value
      return async (...args: unknown[]) => {
        methods[name as 'appendInOrder']?.()
        return value.apply(target, args)
      }
    },
  })
}

t.test('every login takes the same work for any account, and hashes only a keyed digest', async (t) => {
  const passwords = countingPasswords()
  const store = await openTestStore(t)
  const reads: string[] = []
  const counted = new Proxy(store, {
    get(target, name, receiver) {
      const value = Reflect.get(target, name, receiver)
      if (name !== 'readStream') return typeof value === 'function' ? value.bind(target) : value
      return (stream: string) => {
        reads.push(stream.replace(/-.*/, ''))
        return target.readStream(stream)
      }
    },
  })
  const { accounts, wallet } = parts(counted, { passwords })
  await open(accounts)
  await wallet.logIn('ada@example.com', '000000', shop)
  const attempts: [string, string][] = [
    ['ada@example.com', '481516'],
    ['ada@example.com', '000000'],
    ['ada@example.com', 'not a password'],
    ['unknown@example.com', '481516'],
    ['not an e-mail', '481516'],
    ['', ''],
  ]
  for (const [email, password] of attempts) {
    const before = { ...passwords.counts }
    reads.length = 0
    await wallet.logIn(email, password, shop)
    t.equal(passwords.counts.verify - before.verify, 1, `${email} ${password}: one hash`)
    t.equal(passwords.counts.hash, before.hash)
    t.same(reads, ['walletemail', 'wallet'], `${email} ${password}: the same reads`)
  }
  for (const secret of passwords.counts.secrets)
    t.match(secret, /^[\w-]{43}$/, 'a keyed digest is hashed, not the password')
})

t.test('accepts neither a sandbox account nor its money outside the sandbox', async (t) => {
  const store = await openTestStore(t)
  const inside = parts(store, { isSandbox: true })
  const outside = parts(store, { isSandbox: false })
  const accountNumber = await open(inside.accounts, { sandbox: true })
  const payment = { accountNumber, amountMinor: 100n, description: 'Shop, 1', sandbox: true }
  const before = { ...payment, trackingId: randomUUID() }
  t.match(await inside.wallet.collect(before), { outcome: 'collected' })
  t.same(await outside.wallet.logIn(customer.email, customer.password, shop), { outcome: 'refused' })
  const now = { ...payment, trackingId: randomUUID() }
  t.same(await outside.wallet.collect(now), { outcome: 'refused', reason: 'account-blocked' })
  await t.rejects(
    outside.wallet.sendCode({ id: randomUUID(), accountNumber }, { merchantName: 'Shop', amountMinor: 100n }),
    WalletUnavailableError,
  )
  t.match(await outside.wallet.collect(before), { outcome: 'collected' }, 'an earlier collection is still known')
  t.match(await inside.wallet.logIn(customer.email, customer.password, shop), { outcome: 'accepted' })
})

t.test('rejects setting a weak password, and accepts one that was set earlier', async (t) => {
  const store = await openTestStore(t)
  const { accounts, wallet } = parts(store, { isSandbox: true })
  for (const password of ['000000', '123456', '987654', '121212', '112233']) {
    await t.rejects(open(accounts, { password }), InvalidWalletAccountError)
  }
  t.equal((await store.readAll({ maxCount: 10 })).events.length, 0)
  const accountNumber = await open(accounts, { password: '123456', sandbox: true })
  t.same(await wallet.logIn(customer.email, '123456', shop), { outcome: 'accepted', accountNumber, sandbox: true })
})

t.test('rejects every login with a different master key', async (t) => {
  const store = await openTestStore(t)
  const { accounts } = parts(store)
  await open(accounts)
  const other = parts(store, { masterKey: randomBytes(32) })
  t.match(await other.wallet.logIn(customer.email, customer.password, shop), { outcome: 'refused' })
})

t.test('opens one account for an email although several processes open ten concurrently', async (t) => {
  const store = await openTestStore(t)
  const results = await Promise.all(
    Array.from({ length: 10 }, () => parts(store).accounts.open({ ...customer, email: 'ADA@example.com' }, context)),
  )
  t.equal(results.filter(({ accepted }) => accepted).length, 1)
  const { events } = await store.readAll({ streamPrefixes: ['wallet-'], maxCount: 100 })
  t.same(
    events.map(({ type }) => type),
    ['WalletAccountOpened', 'WalletAccountCredited'],
  )
})

t.test('completes an opening that was interrupted between the email and its account', async (t) => {
  const store = await openTestStore(t)
  const interruptedStore = new Proxy(store, {
    get(target, name, receiver) {
      const value = Reflect.get(target, name, receiver)
      if (name !== 'appendInOrder') return typeof value === 'function' ? value.bind(target) : value
      return async (appends: Parameters<EventStore['appendInOrder']>[0]) => {
        await target.appendInOrder(appends.slice(0, 1))
        throw new StoreUnavailableError('the process was killed')
      }
    },
  })
  const { accounts } = parts(store)
  await t.rejects(open(parts(interruptedStore).accounts), StoreUnavailableError)
  t.equal(await accounts.findByEmail(customer.email), undefined)
  const accountNumber = await open(accounts)
  const { events } = await store.readAll({ streamPrefixes: ['walletemail-'], maxCount: 100 })
  t.equal(events.length, 1, 'uses the reserved account number')
  t.equal((await accounts.findByEmail(customer.email))?.accountNumber, accountNumber)
})

t.test('does not assign a used account number to another email', async (t) => {
  const store = await openTestStore(t)
  const numbers = [111_111_111_111, 111_111_111_111, 222_222_222_222]
  const { accounts, wallet } = parts(store, { newNumber: () => numbers.shift()! })
  t.equal(await open(accounts), 111_111_111_111)
  t.equal(await open(accounts, { email: 'eve@example.com', password: '000001' }), 222_222_222_222)
  t.match(await wallet.logIn('eve@example.com', '000001', shop), { accountNumber: 222_222_222_222 })
  t.match(await wallet.logIn('ada@example.com', '481516', shop), { accountNumber: 111_111_111_111 })
  t.match(await wallet.logIn('ada@example.com', '000001', shop), { outcome: 'refused', isAccount: true })
})

t.test('processes eighty concurrent collections of four processes without exceeding the balance', async (t) => {
  const store = await openTestStore(t)
  const accountNumber = await open(parts(store).accounts, { openingBalanceMinor: 5_050n })
  const payments = Array.from({ length: 80 }, () => ({
    trackingId: randomUUID(),
    accountNumber,
    amountMinor: 100n,
    description: 'Shop, 1',
    sandbox: false,
  }))
  const wallets = Array.from({ length: 4 }, () => parts(store).wallet)
  const answers = await Promise.all(payments.map((payment, index) => wallets[index % 4]!.collect(payment)))
  t.equal(answers.filter(({ outcome }) => outcome === 'collected').length, 50)
  t.equal(answers.filter(({ outcome }) => outcome === 'refused').length, 30)
  const { accounts } = parts(store)
  t.equal((await accounts.find(accountNumber))?.balanceMinor, 50n)
  for (const [index, payment] of payments.entries())
    t.match(
      await wallets[0]!.collectionOf(payment),
      answers[index]?.outcome === 'collected' ? answers[index] : undefined,
    )
})

t.test('reads only new events of a cached account, including those of other processes', async (t) => {
  const store = await openTestStore(t)
  let eventsRead = 0
  const counted = new Proxy(store, {
    get(target, name, receiver) {
      const value = Reflect.get(target, name, receiver)
      if (name !== 'readStream') return typeof value === 'function' ? value.bind(target) : value
      return async (...args: Parameters<EventStore['readStream']>) => {
        const events = await target.readStream(...args)
        eventsRead += events.length
        return events
      }
    },
  })
  const [here, elsewhere] = [parts(counted), parts(store)]
  const accountNumber = await open(elsewhere.accounts)
  const payment = () => ({
    trackingId: randomUUID(),
    accountNumber,
    amountMinor: 100n,
    description: 'Shop, 1',
    sandbox: false,
  })
  t.match(await here.wallet.collect(payment()), { outcome: 'collected' })
  t.equal(eventsRead, 2)
  t.match(await here.wallet.collect(payment()), { outcome: 'collected' })
  t.ok(eventsRead <= 3, 'reads at most its own new event')
  const otherPayment = payment()
  t.match(await elsewhere.wallet.collect(otherPayment), { outcome: 'collected' })
  t.match(await here.wallet.collect(otherPayment), { outcome: 'collected' })
  await elsewhere.accounts.execute(accountNumber, { type: 'Credit', reference: 'r', amountMinor: 5n }, context)
  t.equal((await here.accounts.find(accountNumber))?.balanceMinor, 705n)
  t.ok(eventsRead <= 6)
})

t.test('finds a debit in the log whose append succeeded without a response, and does not repeat it', async (t) => {
  const store = await openTestStore(t)
  const accountNumber = await open(parts(store).accounts)
  let appends = 0
  const forgetful = new Proxy(store, {
    get(target, name, receiver) {
      const value = Reflect.get(target, name, receiver)
      if (name !== 'appendInOrder') return typeof value === 'function' ? value.bind(target) : value
      return async (...args: Parameters<EventStore['appendInOrder']>) => {
        appends++
        await target.appendInOrder(...args)
        throw new StoreUnavailableError('no response')
      }
    },
  })
  const payment = { trackingId: randomUUID(), accountNumber, amountMinor: 400n, description: 'Shop, 1', sandbox: false }
  t.match(await parts(forgetful).wallet.collect(payment), { outcome: 'collected', amountMinor: 400n })
  t.equal(appends, 1)
  t.equal((await parts(store).accounts.find(accountNumber))?.balanceMinor, 600n)
})

t.test(
  'during an outage of the log, a collection is unknown after an attempted append and not done before one',
  async (t) => {
    const store = await openTestStore(t)
    const accountNumber = await open(parts(store).accounts)
    const unavailable = () => {
      throw new StoreUnavailableError('the disk is full')
    }
    const payment = {
      trackingId: randomUUID(),
      accountNumber,
      amountMinor: 400n,
      description: 'Shop, 1',
      sandbox: false,
    }
    const unwritable = parts(failing(store, { appendInOrder: unavailable })).wallet
    await t.rejects(unwritable.collect(payment), WalletOutcomeUnknownError)
    const unreadable = parts(failing(store, { readStream: unavailable })).wallet
    await t.rejects(unreadable.collect(payment), WalletUnavailableError)
    await t.rejects(unreadable.logIn(customer.email, customer.password, shop), WalletUnavailableError)
    await t.rejects(unreadable.collectionOf(payment), WalletUnavailableError)
    t.equal(await parts(store).wallet.collectionOf(payment), undefined)
  },
)

t.test('reports the wallet as unavailable if a message cannot be sent, without the code in the error', async (t) => {
  const codes: string[] = []
  const messages: Messages = {
    unpreparedReason: () => undefined,
    sendSms: async ({ code }) => {
      codes.push(code)
      throw new MessageNotSentError('the SMS gateway returned status 500')
    },
    sendEmail: async () => {
      throw new MessageNotSentError('ECONNECTION')
    },
  }
  const { accounts, wallet } = parts(await openTestStore(t), { messages })
  const accountNumber = await open(accounts)
  const error = await wallet
    .sendCode({ id: randomUUID(), accountNumber }, { merchantName: 'Shop', amountMinor: 100n })
    .catch((error: unknown) => error)
  t.ok(error instanceof WalletUnavailableError)
  t.equal(codes.length, 1)
  t.notMatch((error as Error).stack, codes[0]!)
  const requested = wallet.requestTrust({
    accountNumber,
    confirmUrl: 'https://pay.example/x',
    merchantName: 'Shop',
    amountMinor: 100n,
  })
  await t.rejects(requested, WalletUnavailableError)
})

t.test('codes use all million values, with leading zeros, and differ by account and challenge', async (t) => {
  const codes: string[] = []
  const messages: Messages = { ...silent, sendSms: async ({ code }) => void codes.push(code) }
  const { accounts, wallet } = parts(await openTestStore(t), { messages })
  const accountNumber = await open(accounts)
  for (let n = 0; n < 2_000; n++)
    await wallet.sendCode({ id: randomUUID(), accountNumber }, { merchantName: 'Shop', amountMinor: 100n })
  for (const code of codes) if (!/^\d{6}$/.test(code)) t.fail(code)
  // 2000 of a million codes contain two equal pairs on average. Forty would mean a broken derivation.
  t.ok(new Set(codes).size > 1_960)
  for (let digit = 0; digit < 10; digit++) {
    const share = codes.filter((code) => code.startsWith(String(digit))).length
    // The average is 200, with a standard deviation of 13.
    t.ok(share > 100 && share < 300, `${share} codes start with ${digit}`)
  }
})

t.test('hashes with argon2id and a random salt, two at a time, and rejects excess work', async (t) => {
  const passwords = createPasswords(8)
  const [a, b] = await Promise.all([passwords.hash('secret', shop), passwords.hash('secret', shop)])
  t.match(a, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  t.not(a, b)
  t.equal(await passwords.verify(a!, 'secret', shop), true)
  t.equal(await passwords.verify(a!, 'other', shop), false)
  const many = await Promise.allSettled(Array.from({ length: 14 }, () => passwords.verify(a!, 'secret', shop)))
  t.equal(many.filter(({ status }) => status === 'fulfilled').length, 10)
  for (const result of many) if (result.status === 'rejected') t.ok(result.reason instanceof TooManyPasswordsError)
  t.equal(await passwords.verify(b!, 'secret', shop), true, 'works again afterwards')
})

t.test('stores no email, phone, password or code of an account in plaintext', async (t) => {
  const store = await openTestStore(t)
  const codes: string[] = []
  const messages: Messages = { ...silent, sendSms: async ({ code }) => void codes.push(code) }
  const { accounts, wallet } = parts(store, { messages, passwords: createPasswords() })
  const accountNumber = await open(accounts)
  await wallet.logIn(customer.email, customer.password, shop)
  await wallet.sendCode({ id: randomUUID(), accountNumber }, { merchantName: 'Shop', amountMinor: 100n })
  await wallet.trust(accountNumber, 'device-1')
  await wallet.collect({
    trackingId: randomUUID(),
    accountNumber,
    amountMinor: 1n,
    description: 'Shop, 1',
    sandbox: false,
  })
  const { events } = await store.readAll({ maxCount: 100 })
  t.equal(events.length, 5)
  const text = JSON.stringify(events.map((event) => ({ ...event, position: undefined, recordedAtMs: undefined })))
  for (const secret of [customer.email, customer.phone.slice(1), customer.password, codes[0]!])
    t.notOk(text.includes(secret), secret)
  t.equal(events.filter(({ stream }) => stream === walletAccountStream(accountNumber)).length, 4)
})
