import fc from 'fast-check'
import t from 'tap'
import {
  freeFailures,
  type LoginCommand,
  type LoginEvent,
  type LoginState,
  loginDecider,
  loginLockedUntilMs,
  maxKnownDevices,
  type WalletLoginSubject,
} from '../../src/domain/login-lock.js'
import { specification } from '../support/given-when-then.js'

const { given, fold } = specification(loginDecider)
const startMs = Date.parse('2026-03-01T10:00:00.000Z')
const hourMs = 60 * 60_000
const of = (ms: number) => ({
  merchantId: 'm',
  trackingId: '0e1b7c53-4f0f-5a58-9b55-1f3f4d0a7b10',
  at: new Date(startMs + ms).toISOString(),
})
const fail = (device: string | null, ms: number): LoginCommand<WalletLoginSubject> => ({
  type: 'FailLogIn',
  device,
  ...of(ms),
})
const know = (device: string, ms: number): LoginCommand<WalletLoginSubject> => ({
  type: 'KnowDevice',
  device,
  ...of(ms),
})
const failed = (device: string | null, failure: number, ms: number): LoginEvent => ({
  type: 'WalletLogInFailed',
  data: { ...of(ms), device, failure },
})
const known = (device: string, ms: number): LoginEvent => ({
  type: 'WalletLogInDeviceKnown',
  data: { ...of(ms), device },
})
const waitMs = (state: LoginState, device: string | null, ms: number) => {
  const untilMs = loginLockedUntilMs(state, device, startMs + ms)
  return untilMs === undefined ? 0 : untilMs - startMs - ms
}

t.test('allows two wrong passwords, then waits 12 s and doubles the wait up to an hour', async (t) => {
  let state = loginDecider.initialState
  let ms = 0
  const waits: number[] = []
  for (let n = 1; n <= 14; n++) {
    const decision = loginDecider.decide(fail(null, ms), state)
    t.strictSame(decision, { accepted: true, events: [failed(null, n, ms)] })
    state = loginDecider.evolve(state, failed(null, n, ms))
    waits.push(waitMs(state, null, ms) / 1000)
    ms += waitMs(state, null, ms)
  }
  t.equal(freeFailures, 2)
  t.same(waits, [0, 0, 12, 24, 48, 96, 192, 384, 768, 1536, 3072, 3600, 3600, 3600])
  t.equal(waitMs(state, null, ms), 0, 'the lock ends after the wait')
})

t.test('records no failure during a wait, so that two simultaneous failures on two nodes count once', async () => {
  const three = [failed(null, 1, 0), failed(null, 2, 1), failed(null, 3, 2)]
  given(...three)
    .when(fail(null, 3))
    .then([])
  given(...three)
    .when(fail(null, 12_002))
    .then([failed(null, 4, 12_002)])
})

t.test('a day without a wrong password resets the count', async () => {
  const three = [failed(null, 1, 0), failed(null, 2, 1), failed(null, 3, 2)]
  given(...three)
    .when(fail(null, 24 * hourMs + 1))
    .then([failed(null, 4, 24 * hourMs + 1)])
  given(...three)
    .when(fail(null, 24 * hourMs + 2))
    .then([failed(null, 1, 24 * hourMs + 2)])
})

t.test('a device becomes known once, and a correct password on it resets only its own count', async (t) => {
  given()
    .when(know('d', 0))
    .then([known('d', 0)])
  given(known('d', 0)).when(know('d', 1)).then([])
  const both = [known('d', 0), failed('d', 1, 1), failed(null, 1, 2), failed(null, 2, 3), failed(null, 3, 4)]
  given(...both)
    .when(know('d', 5))
    .then([known('d', 5)])
  const state = fold([...both, known('d', 5)])
  t.equal(waitMs(state, null, 5), 11_999, 'the success does not reset the count of unknown devices')
  given(...both, known('d', 5))
    .when(fail('d', 6))
    .then([failed('d', 1, 6)])
})

t.test('forgets the oldest of too many devices', async (t) => {
  const many = Array.from({ length: maxKnownDevices + 1 }, (_, n) => known(`d${n}`, n))
  const { knownDevices } = fold(many)
  t.equal(knownDevices.length, maxKnownDevices)
  t.notOk(knownDevices.includes('d0'))
  const { failures } = fold([
    failed(null, 3, 0),
    ...Array.from({ length: 2 * maxKnownDevices }, (_, n) => failed(`d${n}`, 1, n)),
  ])
  t.equal(failures.length, maxKnownDevices + 1)
  t.match(failures[0], { device: null, count: 3 }, 'the count of unknown devices is never forgotten')
})

t.test('the wait of a known device depends only on its own failures', async () => {
  const device = fc.constantFrom('a', 'b', null)
  const step = fc.tuple(fc.constantFrom('fail', 'know'), device, fc.integer({ min: 0, max: 30 * 60_000 }))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), device, (steps, ownDevice) => {
      let all = loginDecider.initialState
      let own = loginDecider.initialState
      let ms = 0
      const apply = (state: LoginState, command: LoginCommand<WalletLoginSubject>) => {
        const decision = loginDecider.decide(command, state)
        if (!decision.accepted) throw new Error('the command was rejected')
        return decision.events.reduce(loginDecider.evolve, state)
      }
      for (const [action, subject, pauseMs] of steps) {
        ms += pauseMs
        const command = action === 'fail' || subject === null ? fail(subject, ms) : know(subject, ms)
        all = apply(all, command)
        if (subject === ownDevice) own = apply(own, command)
        if (waitMs(all, ownDevice, ms) !== waitMs(own, ownDevice, ms))
          throw new Error('failures of other devices changed the wait')
      }
    }),
  )
})

t.test('compares and records at most 35 guesses a day', async (t) => {
  let state = loginDecider.initialState
  let events = 0
  for (let ms = 0; ms < 24 * hourMs; ms += 1_000) {
    if (loginLockedUntilMs(state, null, startMs + ms) !== undefined) continue
    const decision = loginDecider.decide(fail(null, ms), state)
    if (!decision.accepted) throw new Error('the command was rejected')
    events += decision.events.length
    state = decision.events.reduce(loginDecider.evolve, state)
  }
  t.ok(events >= 30 && events <= 35, String(events))
})
