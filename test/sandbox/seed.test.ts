import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { defaultSettings } from '../../src/domain/merchant/merchant-settings.js'
import { isPayable } from '../../src/domain/money.js'
import type { PaymentMethod } from '../../src/domain/payment-method.js'
import { type Frame, planOfAnHour } from '../../src/sandbox/seed/plan.js'
import { cliItems, cliJson, runCli } from '../cli/in-process.js'
import { long } from '../support/long.js'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'

const methods: readonly PaymentMethod[] = [1, 2].map((code) => ({
  ...{ code, name: `Method ${code}`, paidBy: 'manual', kinds: code === 1 ? ['deposit'] : ['withdrawal'] },
  ...{ minAmountMinor: 100_00n, maxAmountMinor: 500_00n },
}))
const frame: Frame = {
  ...defaultSettings(true),
  currency: { code: 'JPY', decimals: 0 },
  paymentMethods: methods,
}

t.test('a seed always gives the same plan, within the catalogue, limits and currency', async (t) => {
  const plan = planOfAnHour(1, frame)
  t.ok(isDeepStrictEqual(planOfAnHour(1, frame), plan))
  t.notOk(isDeepStrictEqual(planOfAnHour(2, frame), plan))
  t.equal(new Set(plan.map(({ referenceId }) => referenceId)).size, plan.length)
  const wrong = plan.filter(({ kind, amountMinor, paymentMethod, agoMs, steps }) => {
    const isWithin = amountMinor >= 100_00n && amountMinor <= 500_00n && isPayable(frame.currency, amountMinor)
    const times = [agoMs, ...steps.map((step) => step.agoMs), 0]
    const isInOrder = times.every((each, n) => n === 0 || each < times[n - 1]!)
    return !isWithin || !isInOrder || paymentMethod !== (kind === 'deposit' ? 1 : 2)
  })
  t.same(wrong, [])
  t.same(planOfAnHour(1, { ...frame, paymentMethods: [] }), [], 'there is nothing to create without a payment method')
})

const live = ['--name', 'Live', '--callback-url', 'https://example.com/callbacks', '--allow-ip', '192.0.2.1']

interface Listed {
  readonly id: string
  readonly name: string
  readonly sandbox: boolean
  readonly suspended: boolean
  readonly callbacksDisabled: string | null
}

interface Transfer {
  readonly kind: string
  readonly statusDescription: string
}

t.test('serve --seed fills an empty sandbox with transfers in every state, and sends no callbacks', async (t) => {
  const directory = temporaryDirectory(t)
  const service = await startServiceProcess(t, { directory, seed: true })
  t.match(service.notices.join(), /Sample Shop, Sample Games/)
  while (!service.log().includes('sample transfers')) await new Promise((resolve) => setTimeout(resolve, 50))
  t.match(service.log(), /"transfers":400/)
  const merchants = await cliItems<Listed>(directory, 'merchants', 'list')
  t.same(merchants.map(({ name }) => name).sort(), ['Sample Games', 'Sample Shop', 'Sandbox'])
  for (const each of merchants.filter(({ name }) => name !== 'Sandbox'))
    t.match(each, { sandbox: true, suspended: false, callbacksDisabled: /^sample merchant/ })

  const list = (...args: string[]) => cliItems<Transfer>(directory, 'transfers', 'list', ...args, '--limit', '1000')
  let listed = await list()
  // The read models show the seed with a delay.
  while (listed.length < 400) listed = await list()
  const found = new Set(listed.map(({ kind, statusDescription }) => `${kind} ${statusDescription}`))
  for (const status of ['Pending', 'Completed', 'ManualControl', 'Cancelled', 'Failed']) {
    for (const kind of status === 'Failed' ? ['deposit'] : ['deposit', 'withdrawal']) {
      t.ok(found.has(`${kind} ${status}`), `${kind} ${status}`)
    }
  }
  t.ok((await list('--needs-attention')).length > 0)
  const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text()
  t.notMatch(metrics, /transferd_callback_attempt_duration_seconds_count\{[^}]*\} [1-9]/)
  t.equal(await service.end('SIGTERM'), 0)

  const again = await runCli(directory, ['seed'])
  t.equal(again.status, 1)
  t.match(again.stderr, /Transfers already exist/)
  if (long) {
    const second = await startServiceProcess(t, { directory, seed: true })
    t.notMatch(second.notices.join(), /sample/, 'a later start with --seed adds nothing')
    await second.end('SIGTERM')
  }

  await cliJson(directory, 'merchants', 'create', ...live)
  const after = await cliItems<Listed>(directory, 'merchants', 'list')
  for (const { name, suspended } of after)
    t.equal(suspended, name !== 'Live', `the suspension of ${name} after the sandbox has ended`)
})

t.test('the command fills a sandbox', async (t) => {
  t.same(await cliJson(temporaryDirectory(t), 'seed'), { transfers: 400 })
})

t.test('creates no sample data if there is a live merchant or no sandbox', async (t) => {
  const off = await runCli(temporaryDirectory(t), ['seed'], { SANDBOX: 'off' })
  t.equal(off.status, 1)
  t.match(off.stderr, /SANDBOX is off/)
  const directory = temporaryDirectory(t)
  await cliJson(directory, 'merchants', 'create', ...live)
  const refused = await runCli(directory, ['seed'])
  t.equal(refused.status, 1)
  t.match(refused.stderr, /There is a live merchant/)
  if (!long) return
  const service = await startServiceProcess(t, { directory, seed: true })
  t.equal(service.sandbox, undefined)
  t.notMatch(service.notices.join(), /sample/)
  await service.end('SIGTERM')
  t.same(await cliItems(directory, 'transfers', 'list'), [])
})
