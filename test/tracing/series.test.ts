import fc from 'fast-check'
import { fastify } from 'fastify'
import { Registry } from 'prom-client'
import t from 'tap'
import { callbackMetrics } from '../../src/callbacks/callback-metrics.js'
import { metrics } from '../../src/http/server/http-metrics.js'
import { BoundedLabel } from '../../src/tracing/tracing.js'

const own = 50

t.test('in any sequence of values, the first fifty keep their own label, and all others share one', async (t) => {
  const values = fc.array(fc.nat(200).map(String), { maxLength: 2_000 })
  fc.assert(
    fc.property(values, (all) => {
      const label = new BoundedLabel()
      const given = all.map((value) => [value, label.of(value)] as const)
      const first = new Set([...new Set(all)].slice(0, own))
      return given.every(([value, is]) => is === (first.has(value) ? value : 'other'))
    }),
  )
  t.pass('no sequence has more than fifty own labels')
})

t.test('10,000 merchants create at most 51 series, and no count is lost', async (t) => {
  const registry = new Registry()
  const app = fastify()
  await app.register(metrics, { metrics: registry })
  const callbacks = callbackMetrics(registry)
  const merchantOf = (n: number) => `00000000-0000-4000-8000-${String(n % 10_000).padStart(12, '0')}`
  const seriesOf = async (name: string) =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith(`${name}{`))
  const count = 30_000
  for (let n = 0; n < count; n++) {
    app.countCreate('native', merchantOf(n))
    callbacks.observeAttempt(merchantOf(n), n % 2 === 0 ? 'delivered' : 'failed', 12)
  }
  for (const [name, sum] of [
    ['transferd_merchant_transfers_created_total', count],
    ['transferd_merchant_callback_failures_total', count / 2],
  ] as const) {
    const series = await seriesOf(name)
    t.equal(series.length, own + 1, name)
    t.equal(
      series.reduce((total, line) => total + Number(line.split(' ').at(-1)), 0),
      sum,
    )
    t.ok(series.some((line) => line.includes('merchant="other"')))
  }
  const lines = (await registry.metrics()).split('\n').length
  for (let n = 0; n < 10_000; n++) app.countCreate('hosted', merchantOf(n + 5_000))
  t.equal((await registry.metrics()).split('\n').length, lines + 1, 'only the series of the new channel is added')
  await app.close()
})
