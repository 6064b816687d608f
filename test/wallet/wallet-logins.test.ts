import t from 'tap'
import type { Guarded } from '../../src/commands/user/login-guard.js'
import { type EventStore, StoreUnavailableError } from '../../src/event-store/event-store.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { createWalletLogin, type WalletLoginAttempt } from '../../src/wallet/payments/wallet-logins.js'
import { type LogIn, WalletUnavailableError } from '../../src/wallet/wallet.js'
import { context, openTestStore } from '../support/embedded-store.js'

const email = 'ada@example.com'
const accepted: LogIn = { outcome: 'accepted', sandbox: true, accountNumber: 7 }
const wrong: LogIn = { outcome: 'refused', isAccount: true }
const unknown: LogIn = { outcome: 'refused' }

/** Creates a node. Several nodes on one store act as several nodes or as restarts. */
function node(store: EventStore) {
  const time = { ms: Date.parse('2026-03-01T10:00:00.000Z') }
  const logIn = createWalletLogin(store, createSecretBox(Buffer.alloc(32, 7)), () => new Date(time.ms).toISOString())
  let comparisons = 0
  const attempt = (answer: LogIn | (() => Promise<LogIn>), more: Partial<WalletLoginAttempt> = {}) => {
    const of = { email, merchantId: 'm', trackingId: 't', customer: 'a customer', deviceCookie: undefined, ...more }
    const compare = async () => {
      comparisons++
      return typeof answer === 'function' ? answer() : answer
    }
    return logIn(of, compare, context)
  }
  return { time, attempt, comparisons: () => comparisons }
}

async function events(store: EventStore) {
  return (await store.readAll({ streamPrefixes: ['walletlogins-'], maxCount: 1_000 })).events
}

function cookieOf(result: Guarded<number>): string {
  if (result.outcome !== 'accepted') throw new Error(`the login was ${result.outcome}`)
  return result.deviceCookie
}

t.test('guesses from unknown devices lock out only unknown devices', async (t) => {
  const store = await openTestStore(t)
  const { attempt, comparisons } = node(store)
  const deviceCookie = cookieOf(await attempt(accepted, { customer: 'the customer' }))
  for (let n = 0; n < 300; n++) await attempt(wrong, { customer: `guesser ${n}`, merchantId: `m${n % 3}` })
  t.equal(comparisons(), 4, 'three guesses were compared')
  t.match(await attempt(accepted, { customer: 'guesser' }), { outcome: 'locked', retryAfterSeconds: 12 })
  t.match(
    await attempt(accepted, { customer: 'the customer' }),
    { outcome: 'accepted' },
    'the merchant and the user are known',
  )
  t.match(await attempt(accepted, { deviceCookie }), { outcome: 'accepted' }, 'the cookie is known')
  t.match(await attempt(accepted, { customer: 'the customer', email: ' ADA@example.com ' }), { outcome: 'accepted' })
})

t.test('guesses from a known device lock only that device, and a correct password resets its count', async (t) => {
  const store = await openTestStore(t)
  const { attempt, time } = node(store)
  const deviceCookie = cookieOf(await attempt(accepted, { customer: 'the customer' }))
  for (let n = 0; n < 3; n++) t.match(await attempt(wrong, { deviceCookie }), { outcome: 'refused' })
  t.match(await attempt(accepted, { deviceCookie }), { outcome: 'locked', retryAfterSeconds: 12 })
  t.match(await attempt(wrong), { outcome: 'refused' }, 'unknown devices are not locked')
  time.ms += 12_000
  const fresh = cookieOf(await attempt(accepted, { deviceCookie }))
  t.not(fresh, deviceCookie)
  for (let n = 0; n < 2; n++) t.match(await attempt(wrong, { deviceCookie: fresh }), { outcome: 'refused' })
  t.match(await attempt(accepted, { deviceCookie: fresh }), { outcome: 'accepted' })
})

t.test('accepts an unchanged cookie for its own account only', async (t) => {
  const store = await openTestStore(t)
  const { attempt } = node(store)
  const deviceCookie = cookieOf(await attempt(accepted))
  const elsewhere = cookieOf(await attempt(accepted, { email: 'eve@example.com' }))
  for (let n = 0; n < 3; n++) await attempt(wrong, { customer: 'guesser' })
  const [nonce, mac] = deviceCookie.split('.') as [string, string]
  const forged = [
    elsewhere,
    nonce,
    `${nonce}.`,
    `${nonce}.${mac.slice(1)}A`,
    `${nonce.startsWith('A') ? 'B' : 'A'}${nonce.slice(1)}.${mac}`,
    `${deviceCookie} `,
    '',
  ]
  for (const each of forged) {
    const result = await attempt(accepted, { customer: 'guesser', deviceCookie: each })
    t.equal(result.outcome, 'locked', each)
  }
  t.equal((await attempt(accepted, { customer: 'guesser', deviceCookie })).outcome, 'accepted')
})

t.test('counts failures across restarts and nodes', async (t) => {
  const store = await openTestStore(t)
  const first = node(store)
  for (let n = 0; n < 2; n++) await first.attempt(wrong)
  const second = node(store)
  t.match(await second.attempt(wrong), { outcome: 'refused' })
  for (const each of [first, second, node(store)]) {
    t.match(await each.attempt(accepted), { outcome: 'locked', retryAfterSeconds: 12 })
  }
})

t.test('compares three of a hundred concurrent guesses', async (t) => {
  const store = await openTestStore(t)
  const { attempt, comparisons } = node(store)
  const results = await Promise.all(Array.from({ length: 100 }, () => attempt(wrong)))
  t.equal(comparisons(), 3)
  t.equal(results.filter(({ outcome }) => outcome === 'refused').length, 3)
  t.equal((await events(store)).length, 3)
})

t.test('guesses that hang delay only unknown devices', async (t) => {
  const store = await openTestStore(t)
  const { attempt } = node(store)
  const deviceCookie = cookieOf(await attempt(accepted))
  let answer = (_: LogIn) => {}
  const hanging = attempt(() => new Promise<LogIn>((resolve) => (answer = resolve)), { customer: 'guesser' })
  t.match(await attempt(accepted, { deviceCookie }), { outcome: 'accepted' })
  answer(wrong)
  t.match(await hanging, { outcome: 'refused' })
})

t.test('responds to an unknown email as to a known one and appends nothing', async (t) => {
  const store = await openTestStore(t)
  const { attempt, time } = node(store)
  for (let n = 0; n < 40; n++) {
    const known = await attempt(wrong, { email: 'ada@example.com' })
    const unknownEmail = await attempt(unknown, { email: 'unknown@example.com' })
    t.same(unknownEmail, known)
    time.ms += n % 4 === 3 ? 60_000 : 1_000
  }
  const recorded = (await events(store)).length
  for (let n = 0; n < 300; n++) await attempt(unknown, { email: `unknown${n}@example.com` })
  t.equal((await events(store)).length, recorded)
})

t.test(
  'counts failures durably after a first correct password if the wallet does not report unknown emails',
  async (t) => {
    const store = await openTestStore(t)
    const { attempt } = node(store)
    await attempt(accepted, { customer: 'the customer' })
    for (let n = 0; n < 3; n++) await attempt(unknown)
    t.equal((await node(store).attempt(accepted)).outcome, 'locked')
  },
)

t.test('records a correct password once per device, and counts nothing while the wallet is unavailable', async (t) => {
  const store = await openTestStore(t)
  const { attempt } = node(store)
  for (let n = 0; n < 50; n++) t.equal((await attempt(accepted)).outcome, 'accepted')
  t.same(
    (await events(store)).map(({ type }) => type),
    ['WalletLogInDeviceKnown'],
  )
  const away = async () => {
    throw new WalletUnavailableError('away')
  }
  for (let n = 0; n < 5; n++) await t.rejects(attempt(away), WalletUnavailableError)
  t.equal((await attempt(accepted)).outcome, 'accepted')
})

t.test('does not respond to a guess whose failure cannot be recorded', async (t) => {
  const store = await openTestStore(t)
  const unwritable = new Proxy(store, {
    get(target, name, receiver) {
      const value = Reflect.get(target, name, receiver)
      if (typeof value !== 'function') return value
      if (name !== 'appendInOrder') return value.bind(target)
      return async () => {
        throw new StoreUnavailableError('the disk is full')
      }
    },
  })
  await t.rejects(node(unwritable).attempt(wrong), StoreUnavailableError)
})

t.test('stores no email in events', async (t) => {
  const store = await openTestStore(t)
  const { attempt } = node(store)
  await attempt(accepted)
  await attempt(wrong)
  const text = JSON.stringify((await events(store)).map(({ stream, data, metadata }) => ({ stream, data, metadata })))
  t.notMatch(text, /ada@|example/)
})
