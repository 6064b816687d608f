import fc from 'fast-check'
import t from 'tap'
import { loginLockedUntilMs, withFailure } from '../../src/domain/login-lock.js'
import { codeCapDecider, codesLockedUntilMs, maxWrongCodes } from '../../src/domain/payment.js'
import { leftOfWaitMs, steadyClock } from '../../src/kernel/time.js'
import { startReceiver } from '../callbacks/receiver.js'
import { openWorld, stopAfterFailure } from '../callbacks/world.js'
import { until } from '../support/until.js'

const hourMs = 3_600_000
const startMs = Date.parse('2026-03-01T10:00:00.000Z')

t.test(
  'sends a callback that waits for its next attempt, although the clock was set back during a restart',
  async (t) => {
    const world = await openWorld(t)
    const { receiver, trackingId } = await stopAfterFailure(t, world)
    world.clock.forward(-24 * hourMs)
    world.start()
    await until(async () => (await world.deliveryLog(trackingId)).at(-1)?.type === 'CallbackDelivered')
    t.equal(receiver.received.length, 2)
  },
)

t.test('sends a callback that was recorded before the clock was set back', async (t) => {
  const world = await openWorld(t, { timing: { sweepDelayMs: 60_000 } })
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url)
  const trackingId = await world.completed(id)
  const payload = { status: 2, referenceId: 'r', message: null, receiptUrl: null, hasAmountMismatch: false } as const
  const amounts = { amountMinor: 1n, transactionAmountMinor: 1n }
  const callback = { webhookId: trackingId, trackingId, merchantId: id, transferRevision: 1 }
  const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
  await world.callbacks.record({ ...callback, payload: { ...payload, ...amounts } }, context)
  world.clock.forward(-hourMs)
  world.start()
  await until(() => receiver.received.some(({ webhookId }) => webhookId === trackingId))
})

t.test('a clock of waits in memory never goes back and never stops', async () => {
  const step = fc.record({ wallMs: fc.integer({ min: -hourMs, max: hourMs }), elapsedMs: fc.nat(hourMs) })
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      let [wallMs, monotonicMs] = [startMs, 0]
      const clock = steadyClock(
        () => wallMs,
        () => monotonicMs,
      )
      let last = clock()
      for (const { wallMs: jumpMs, elapsedMs } of steps) {
        wallMs += elapsedMs + jumpMs
        monotonicMs += elapsedMs
        const now = clock()
        if (now < last + elapsedMs || now < wallMs) return false
        last = now
      }
      return true
    }),
  )
})

t.test('a recorded wait never takes longer than it was recorded for, whatever the clock shows', async (t) => {
  fc.assert(
    fc.property(fc.integer(), fc.nat(), fc.integer(), (sinceMs, waitMs, nowMs) => {
      const leftMs = leftOfWaitMs(sinceMs, sinceMs + waitMs, nowMs)
      return leftMs >= 0 && leftMs <= waitMs
    }),
  )
  t.equal(leftOfWaitMs(1_000, 5_000, 4_999), 1)
  t.equal(leftOfWaitMs(1_000, 5_000, 1_000), 4_000)
  t.equal(leftOfWaitMs(1_000, 5_000, 999), 0)
})

t.test('locks of logins and codes end when the clock is set back', async (t) => {
  const at = new Date(startMs).toISOString()
  const failures = withFailure({ knownDevices: [], failures: [] }, null, 5, at)
  t.ok(loginLockedUntilMs(failures, null, startMs))
  t.equal(loginLockedUntilMs(failures, null, startMs - hourMs), undefined)
  const refused = {
    type: 'WalletCodeRefused',
    data: { trackingId: 'a', merchantId: 'b', challengeId: 'c', accountNumber: 1, attempt: 1, at },
  } as const
  let codes = codeCapDecider.initialState
  for (let n = 0; n < maxWrongCodes; n++) codes = codeCapDecider.evolve(codes, refused)
  t.ok(codesLockedUntilMs(codes, startMs))
  t.equal(codesLockedUntilMs(codes, startMs - hourMs), undefined)
})
