import fc from 'fast-check'
import t from 'tap'
import { callbackBody } from '../../src/domain/callback.js'
import { pageModule } from './page-module.js'

interface Row {
  readonly webhookId: string
  readonly amountMinor: bigint
  readonly transactionAmountMinor: bigint
  readonly hasAmountMismatch: boolean
  readonly isResent: boolean
  readonly attempts: readonly { readonly at: string }[]
  readonly state: string
}
interface Callbacks {
  readonly rows: readonly Row[]
  readonly arrived: number
}

const { withCallback, withAttempt, noCallbacks } = await pageModule<{
  withCallback(callbacks: Callbacks, sent: object): Callbacks
  withAttempt(callbacks: Callbacks, attempt: object): Callbacks
  noCallbacks: Callbacks
}>('pages/callbacks/live-callbacks.ts')

const payload = { status: 2, referenceId: 'r-1', message: null, hasAmountMismatch: false, receiptUrl: null }

function callback(webhookId: string, resent = false, amountMinor = 100n, transactionAmountMinor = amountMinor) {
  const hasAmountMismatch = amountMinor !== transactionAmountMinor
  const body = callbackBody(
    { ...payload, amountMinor, transactionAmountMinor, hasAmountMismatch },
    webhookId,
    () => '…',
  )
  return { webhookId, resent, request: { headers: {}, body } }
}

type Event =
  | { readonly kind: 'callback'; readonly webhookId: string; readonly resent: boolean }
  | { readonly kind: 'attempt'; readonly webhookId: string; readonly result: string; readonly at: string }

const take = (callbacks: Callbacks, event: Event) =>
  event.kind === 'attempt'
    ? withAttempt(callbacks, event)
    : withCallback(callbacks, callback(event.webhookId, event.resent))

/** Events as they are recorded: a callback is recorded once, before its resends and attempts. */
const logs = fc
  .array(fc.record({ id: fc.nat(7), step: fc.constantFrom('resend', 'delivered', 'failed', 'parked') }), {
    maxLength: 40,
  })
  .map((steps) => {
    const recorded = new Set<number>()
    return steps.map(({ id, step }, index): Event => {
      const webhookId = `webhook-${id}`
      const isNew = !recorded.has(id)
      recorded.add(id)
      if (isNew || step === 'resend') return { kind: 'callback', webhookId, resent: !isNew }
      return { kind: 'attempt', webhookId, result: step, at: new Date(index * 1000).toISOString() }
    })
  })

const byId = ({ rows }: Callbacks) =>
  new Map(rows.map(({ webhookId, state, isResent, attempts }) => [webhookId, { state, isResent, attempts }]))

t.test('events that come again after a reconnect change no callback', async (t) => {
  const reconnects = fc.array(fc.record({ lostAfter: fc.nat(39), repeats: fc.nat(39) }), { maxLength: 4 })
  fc.assert(
    fc.property(logs, reconnects, (log, cuts) => {
      const received: Event[] = []
      let next = 0
      for (const { lostAfter, repeats } of cuts) {
        received.push(...log.slice(next, next + lostAfter))
        next = Math.max(0, Math.min(log.length, next + lostAfter) - repeats)
      }
      received.push(...log.slice(next))
      t.strictSame(byId(received.reduce(take, noCallbacks)), byId(log.reduce(take, noCallbacks)))
    }),
  )
})

t.test('shows each callback once, the newest or last resent first, and at most 200', async (t) => {
  const ids = Array.from({ length: 250 }, (_, index) => `webhook-${index}`)
  const all = ids.reduce((shown, id) => withCallback(shown, callback(id)), noCallbacks)
  t.strictSame(
    all.rows.map(({ webhookId }) => webhookId),
    ids.slice(50).reverse(),
  )
  const resent = withCallback(all, callback('webhook-100', true))
  t.equal(resent.rows.length, 200)
  t.match(resent.rows[0], { webhookId: 'webhook-100', isResent: true, state: 'waiting' })
  t.equal(resent.arrived, 251)
  t.equal(withCallback(resent, callback('webhook-240')).arrived, 251, 'a repeat is not new')
  t.strictSame(
    withAttempt(resent, { webhookId: 'webhook-1', at: '', result: 'failed' }),
    resent,
    'it is no longer shown',
  )
})

t.test('reads the amounts exactly', async (t) => {
  const amount = fc.bigInt(1n, 99_999_999_999_999n)
  fc.assert(
    fc.property(amount, fc.oneof(amount, fc.constant(0n)), (requested, moved) => {
      const { rows } = withCallback(noCallbacks, callback('webhook', false, requested, moved))
      t.match(rows[0], {
        amountMinor: requested,
        transactionAmountMinor: moved,
        hasAmountMismatch: requested !== moved,
      })
    }),
  )
})
