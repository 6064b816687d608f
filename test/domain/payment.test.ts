import t from 'tap'
import {
  type CollectionOutcome,
  codeCapDecider,
  codesLockedUntilMs,
  collectionPauseMs,
  findChallenge,
  maxCodeAttempts,
  maxCollections,
  maxLogins,
  maxWrongCodes,
  type PaymentCommand,
  type PaymentEvent,
  type PaymentRule,
  paymentDecider,
} from '../../src/domain/payment.js'
import { specification } from '../support/given-when-then.js'

const { given, fold } = specification(paymentDecider)
const at = '2026-03-01T10:01:00.000Z'
const of = { trackingId: '0e1b7c53-4f0f-5a58-9b55-1f3f4d0a7b10', merchantId: 'm', at }
const one = { ...of, challengeId: 'one' }
const other = { ...of, challengeId: 'other' }

const loggedIn = (challenge = one, accountNumber = 7): PaymentEvent => ({
  type: 'WalletLoggedIn',
  data: { ...challenge, accountNumber },
})
const attempted = (attempt: number, challenge = one): PaymentEvent => ({
  type: 'WalletCodeAttempted',
  data: { ...challenge, attempt },
})
const verified = (challenge = one): PaymentEvent => ({ type: 'WalletCodeVerified', data: challenge })
const started = (collection = 1, challenge = one): PaymentEvent => ({
  type: 'WalletCollectionStarted',
  data: { ...challenge, collection, accountNumber: 7, amountMinor: 100n },
})
const ended = (outcome: CollectionOutcome, collection = 1): PaymentEvent => ({
  type: 'WalletCollectionEnded',
  data: { ...of, ...ending(outcome, collection) },
})
const ending = (outcome: CollectionOutcome, collection = 1) => ({
  collection,
  outcome,
  collectedAmountMinor: outcome === 'collected' ? 100n : 0n,
  receiptUrl: null,
  reason: outcome === 'refused' ? ('insufficient-balance' as const) : null,
})

const logIn: PaymentCommand = { type: 'LogIn', ...one, accountNumber: 7 }
const attempt: PaymentCommand = { type: 'AttemptCode', ...one }
const verify: PaymentCommand = { type: 'VerifyCode', ...one }
const start: PaymentCommand = { type: 'StartCollection', ...one, amountMinor: 100n }
const end = (outcome: CollectionOutcome, collection = 1): PaymentCommand => ({
  type: 'EndCollection',
  ...of,
  ...ending(outcome, collection),
})

function ruleOf(history: readonly PaymentEvent[], command: PaymentCommand): PaymentRule | undefined {
  const decision = paymentDecider.decide(command, fold(history))
  return decision.accepted ? undefined : (decision.refusal.rule as PaymentRule)
}

t.test('records a login, its codes and its device individually', async () => {
  given().when(logIn).then([loggedIn()])
  given(loggedIn())
    .when(attempt)
    .then([attempted(1)])
  given(loggedIn(), attempted(1))
    .when(attempt)
    .then([attempted(2)])
  given(loggedIn(), attempted(1)).when(verify).then([verified()])
  const expiresAt = '2026-03-01T10:11:00.000Z'
  const question: PaymentCommand = { type: 'QuestionDevice', ...one, expiresAt }
  const questioned: PaymentEvent = { type: 'WalletDeviceQuestioned', data: { ...one, expiresAt } }
  const confirm: PaymentCommand = { type: 'ConfirmDevice', ...one }
  const confirmed: PaymentEvent = { type: 'WalletDeviceConfirmed', data: one }
  given(loggedIn(), verified()).when(question).then([questioned])
  given(loggedIn(), verified(), questioned).when(question).then([])
  given(loggedIn(), verified(), questioned).when(confirm).then([confirmed])
  given(loggedIn(), verified(), questioned, confirmed).when(confirm).then([])
  given(loggedIn(), verified()).when(confirm).then('conflict')
  given(loggedIn()).when(question).then('conflict')
})

t.test('a login has five codes, and another login has five more', async (t) => {
  const five = [1, 2, 3, 4, 5].map((n) => attempted(n))
  t.equal(maxCodeAttempts, 5)
  t.equal(ruleOf([loggedIn(), ...five], attempt), 'too-many-attempts')
  given(loggedIn(), ...five, loggedIn(other))
    .when({ ...attempt, challengeId: 'other' } as PaymentCommand)
    .then([attempted(1, other)])
  t.equal(findChallenge(fold([loggedIn(), ...five]), 'one')?.attempts, 5)
})

t.test('verifies a code once, even for two simultaneous correct codes', async (t) => {
  t.equal(ruleOf([loggedIn(), attempted(1), attempted(2), verified()], verify), 'already-verified')
  t.equal(ruleOf([loggedIn(), attempted(1), verified()], attempt), 'already-verified')
})

t.test('rejects every command for a login of a different deposit', async (t) => {
  for (const command of [attempt, verify, start]) t.equal(ruleOf([loggedIn(other)], command), 'unknown-challenge')
  t.equal(ruleOf([], end('collected')), 'unknown-challenge')
})

t.test(`allows at most ${maxLogins} logins`, async (t) => {
  const many = Array.from({ length: maxLogins }, (_, n) => loggedIn({ ...of, challengeId: `c${n}` }))
  given(...many.slice(1))
    .when(logIn)
    .then([loggedIn()])
  t.equal(ruleOf(many, logIn), 'too-many-logins')
})

t.test('collects only after a correct code, one collection at a time', async (t) => {
  const ready = [loggedIn(), attempted(1), verified()]
  t.equal(ruleOf([loggedIn(), attempted(1)], start), 'code-not-verified')
  given(...ready)
    .when(start)
    .then([started()])
  const busy = [...ready, started()]
  const two = [...busy, loggedIn(other), verified(other)]
  for (const command of [start, logIn]) t.equal(ruleOf(busy, command), 'collecting')
  t.equal(ruleOf(two, { ...start, challengeId: 'other' } as PaymentCommand), 'collecting')
  for (const outcome of ['collected', 'unknown'] as const) {
    for (const command of [start, logIn]) t.equal(ruleOf([...busy, ended(outcome)], command), 'collected', outcome)
  }
})

const startAt = (ms: number, challenge = one): PaymentCommand => ({
  type: 'StartCollection',
  ...challenge,
  amountMinor: 100n,
  at: new Date(Date.parse(at) + ms).toISOString(),
})
const startedAt = (ms: number, collection: number, challenge = one): PaymentEvent => ({
  type: 'WalletCollectionStarted',
  data: {
    ...challenge,
    collection,
    accountNumber: 7,
    amountMinor: 100n,
    at: new Date(Date.parse(at) + ms).toISOString(),
  },
})

t.test('a refusal is final for its login, and another login can collect again', async (t) => {
  const both = [loggedIn(), verified(), loggedIn(other), verified(other), started(), ended('refused')]
  for (const ms of [0, collectionPauseMs, 10 * 60_000]) t.equal(ruleOf(both, startAt(ms)), 'refused-before')
  given(...both)
    .when(startAt(0, other))
    .then([startedAt(0, 2, other)])
})

t.test('retries an unavailable wallet a few times per login, after a pause', async (t) => {
  const both = [loggedIn(), verified(), loggedIn(other), verified(other), started(), ended('not-taken')]
  t.equal(ruleOf(both, startAt(collectionPauseMs - 1)), 'too-soon')
  given(...both)
    .when(startAt(collectionPauseMs))
    .then([startedAt(collectionPauseMs, 2)])
  given(...both)
    .when(startAt(0, other))
    .then([startedAt(0, 2, other)], 'the pause applies only to its login')
  const all = [loggedIn(), verified(), loggedIn(other), verified(other)]
  for (let n = 1; n <= maxCollections; n++) all.push(started(n), ended('not-taken', n))
  t.equal(ruleOf(all, startAt(60 * 60_000)), 'too-many-collections')
  given(...all)
    .when(startAt(0, other))
    .then([startedAt(0, maxCollections + 1, other)])
})

t.test('keeps the first outcome, but records collected money at any time', async () => {
  const busy = [loggedIn(), verified(), started()]
  const outcomes = ['collected', 'refused', 'unknown', 'not-taken'] as const
  for (const first of outcomes) {
    given(...busy)
      .when(end(first))
      .then([ended(first)])
    for (const second of outcomes) {
      const expected = second === 'collected' && first !== 'collected' ? [ended('collected')] : []
      given(...busy, ended(first))
        .when(end(second))
        .then(expected, `${second} after ${first}`)
    }
  }
})

t.test('an account pays a deposit once, and a second collected outcome means the same money', async () => {
  const both = [loggedIn(), verified(), started(), ended('not-taken'), started(2)]
  const same: PaymentEvent = {
    type: 'WalletCollectionEnded',
    data: { ...of, ...ending('collected', 2), outcome: 'not-taken', collectedAmountMinor: 0n },
  }
  given(...both, ended('collected'))
    .when(end('collected', 2))
    .then([same])
  given(...both, ended('collected', 2))
    .when(end('collected'))
    .then([])
  const fromAnother: PaymentEvent = {
    type: 'WalletCollectionStarted',
    data: { ...other, collection: 2, accountNumber: 8, amountMinor: 100n },
  }
  given(loggedIn(), verified(), started(), ended('not-taken'), fromAnother, ended('collected', 2))
    .when(end('collected'))
    .then([ended('collected')])
})

t.test('the twentieth wrong code within a day locks the account until the first is a day old', async (t) => {
  const wrong = (n: number) => {
    const time = new Date(Date.parse(at) + n * 60_000).toISOString()
    return { ...one, accountNumber: 7, attempt: 1, at: time } as const
  }
  let state = codeCapDecider.initialState
  for (let n = 0; n < maxWrongCodes; n++) {
    t.equal(codesLockedUntilMs(state, Date.parse(at)), undefined, `after ${n}`)
    const decision = codeCapDecider.decide(wrong(n), state)
    if (!decision.accepted) throw new Error('the code was rejected')
    state = decision.events.reduce(codeCapDecider.evolve, state)
  }
  const dayMs = 24 * 60 * 60_000
  const firstMs = Date.parse(at)
  t.equal(codesLockedUntilMs(state, firstMs + 19 * 60_000), firstMs + dayMs)
  t.equal(codesLockedUntilMs(state, firstMs + dayMs - 1), firstMs + dayMs)
  t.equal(codesLockedUntilMs(state, firstMs + dayMs), undefined)
})
