import { randomUUID } from 'node:crypto'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import { MerchantDirectory } from '../../src/commands/merchant/merchant-directory.js'
import { skipEvent } from '../../src/commands/skip-events.js'
import type { TransferCommands } from '../../src/commands/transfer/transfers.js'
import { merchantStream, skippedEventsStream, transferStream } from '../../src/domain/streams.js'
import type { EventStore } from '../../src/event-store/event-store.js'
import { skipEvents } from '../../src/event-store/read-event.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { merchantId, settings } from '../domain/merchant-samples.js'
import { depositRequest } from '../domain/transfer-samples.js'
import { context, openTestStore } from '../support/embedded-store.js'
import { transferCommands } from '../support/transfer-commands.js'
import { until } from '../support/until.js'

const at = '2026-03-01T10:00:00.000Z'
const clock = () => at
const reason = 'a test'

const foreign = () => ({ id: randomUUID(), type: 'Foreign', data: {}, metadata: {} })

/** Opens a log in a new directory, because some tests need two logs. */
function openLog(t: Test) {
  return openTestStore({ testdir: () => tempDirectory(t), teardown: (handler) => t.teardown(handler) })
}

function commandsOn(store: EventStore): TransferCommands {
  return transferCommands(store, clock, async () => settings)
}

async function deposit(transfers: TransferCommands, referenceId: string = randomUUID()) {
  const result = await transfers.create({ ...depositRequest, merchantId, referenceId }, context)
  if (!result.accepted) throw new Error(result.refusal.rule)
  return result.transfer.trackingId
}

function decide(store: EventStore, stream: string, revision: number) {
  return skipEvent({ store, clock }, { stream, revision, reason }, context)
}

/** A change of a transfer, or an unreadable event in its stream. */
type Step = 'SendToManualControl' | 'Cancel' | 'Fail' | 'reopen' | 'complete' | 'bad'

const steps = fc.array(
  fc.constantFrom<Step>('SendToManualControl', 'Cancel', 'Fail', 'reopen', 'complete', 'bad', 'bad'),
  { maxLength: 12 },
)

async function applyStep(transfers: TransferCommands, trackingId: string, step: Exclude<Step, 'bad'>): Promise<void> {
  if (step === 'reopen') await transfers.act(trackingId, { type: 'Reopen', reason: 'again' }, context)
  else if (step === 'complete') await transfers.act(trackingId, { type: 'Complete' }, context)
  else await transfers.act(trackingId, { type: step, message: null }, context)
}

t.test('ignores skipped events of any kind in a stream', async (t) => {
  const log = await openLog(t)
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      const transfers = commandsOn(skipEvents(log))
      const [withSkipped, clean] = [await deposit(transfers), await deposit(transfers)]
      for (const step of history) {
        if (step !== 'bad') await applyStep(transfers, clean, step)
        else
          await log.append(
            transferStream(withSkipped),
            (await log.readStream(transferStream(withSkipped))).length - 1,
            [foreign()],
          )
        if (step === 'bad') {
          await t.rejects(commandsOn(skipEvents(log)).find(withSkipped), { name: 'UnreadableEventError' })
          const revision = (await log.readStream(transferStream(withSkipped))).length - 1
          t.match(await decide(skipEvents(log), transferStream(withSkipped), revision), {
            accepted: true,
            changed: true,
          })
        } else await applyStep(commandsOn(skipEvents(log)), withSkipped, step)
      }
      const found = (await commandsOn(skipEvents(log)).find(withSkipped))!
      const expected = (await transfers.find(clean))!
      const same = { trackingId: clean, referenceId: expected.transfer.referenceId }
      t.strictSame({ ...found.transfer, ...same }, expected.transfer)
      t.equal(
        found.revision,
        (await log.readStream(transferStream(withSkipped))).length - 1,
        'skipped events count as revisions',
      )
    }),
    { numRuns: 40 },
  )
})

t.test('refuses to skip a readable event, accepts a repeat, and reports a missing event', async (t) => {
  const log = await openLog(t)
  const store = skipEvents(log)
  const stream = transferStream(await deposit(commandsOn(store)))
  t.match(await decide(store, stream, 0), { accepted: false, refusal: { reason: 'conflict' } })
  t.match(await decide(store, stream, 1), { accepted: false, refusal: { reason: 'not-found' } })
  t.match(await decide(store, 'elsewhere', 0), { accepted: false, refusal: { reason: 'not-found' } })
  await log.append(stream, 0, [foreign()])
  t.match(
    await decide(store, stream, 0),
    { accepted: false },
    'a readable event before an unreadable one is not skipped',
  )
  t.match(await decide(store, stream, 1), { accepted: true, changed: true, problem: /unknown event Foreign/ })
  t.match(await decide(skipEvents(log), stream, 1), { accepted: true, changed: false })
  const decisions = await log.readStream(skippedEventsStream)
  t.match(
    decisions.map(({ data, metadata }) => ({ data, metadata })),
    [{ data: { stream, revision: 1, eventType: 'Foreign', reason }, metadata: { actor: context.actor } }],
  )
})

t.test('skips, one at a time, events that no longer fit because their creation is skipped', async (t) => {
  const log = await openLog(t)
  const referenceId = randomUUID()
  const otherLog = await openLog(t)
  const trackingId = await deposit(commandsOn(otherLog), referenceId)
  await commandsOn(otherLog).act(trackingId, { type: 'Cancel', message: null }, context)
  const stream = transferStream(trackingId)
  const [created, cancelled] = await otherLog.readStream(stream)
  const damaged = { ...created!, data: { ...created!.data, amountMinor: '-1' }, metadata: {} }
  await log.append(stream, 'no_stream', [damaged])
  await log.append(stream, 0, [cancelled!])
  const store = skipEvents(log)
  t.match(await decide(store, stream, 1), { accepted: false }, 'rejects the second event before the first is skipped')
  t.match(await decide(store, stream, 0), { accepted: true, changed: true })
  await t.rejects(commandsOn(skipEvents(log)).find(trackingId), /before it was created/)
  t.match(await decide(skipEvents(log), stream, 1), {
    accepted: true,
    changed: true,
    problem: /before it was created/,
  })
  t.equal(await commandsOn(skipEvents(log)).find(trackingId), undefined)
  t.equal(await deposit(commandsOn(skipEvents(log)), referenceId), trackingId, 'the transfer can be created again')
  t.equal(await deposit(commandsOn(skipEvents(log)), referenceId), trackingId, 'a repeat returns the same transfer')
  t.equal((await log.readStream(stream)).length, 3)
})

t.test('a decision does not apply to a different event at the same place of a restored log', async (t) => {
  const [log, restored] = [await openLog(t), await openLog(t)]
  const stream = 'wallet-7'
  await log.append(stream, 'no_stream', [foreign()])
  await decide(skipEvents(log), stream, 0)
  await restored.append(skippedEventsStream, 'no_stream', await log.readStream(skippedEventsStream))
  await restored.append(stream, 'no_stream', [foreign()])
  const isSkipped = async (store: EventStore) => (await skipEvents(store).readStream(stream))[0]?.isSkipped
  t.same([await isSkipped(log), await isSkipped(restored)], [true, undefined])
})

t.test('an unreadable decision has no effect and does not prevent a new one', async (t) => {
  const log = await openLog(t)
  await log.append(skippedEventsStream, 'no_stream', [foreign()])
  await log.append('wallet-7', 'no_stream', [foreign()])
  t.match(await decide(skipEvents(log), 'wallet-7', 0), { accepted: true, changed: true })
  t.match(await decide(skipEvents(log), skippedEventsStream, 0), { accepted: true, changed: true })
  t.ok((await skipEvents(log).readStream('wallet-7'))[0]?.isSkipped)
})

t.test(
  'a running process applies a decision from the log and enables the merchant with all later changes',
  async (t) => {
    const log = await openLog(t)
    const box = createSecretBox(Buffer.alloc(32, 7))
    const merchants = new MerchantCommands(log, clock, box)
    const { id, webApiKey } = await merchants.register({ ...settings, allowIps: ['10.0.0.1'] }, context)
    const errors: unknown[] = []
    const directory = new MerchantDirectory(skipEvents(log), box, clock, (error) => errors.push(error))
    await directory.start()
    t.teardown(() => directory.stop())
    const stream = merchantStream(id)
    await log.append(stream, 0, [foreign()])
    await until(() => directory.problemOf(id) !== undefined)
    t.equal(directory.byApiKey(webApiKey), undefined)
    t.match(directory.problemAt('10.0.0.1'), { stream, revision: 1 })
    const [registered] = await log.readStream(stream)
    const suspended = { type: 'MerchantSuspended', data: { merchantId: id, at }, metadata: { schemaVersion: 1 } }
    await log.append(stream, 1, [{ id: randomUUID(), ...suspended }])
    t.match(await decide(skipEvents(log), stream, 1), { accepted: true, changed: true })
    await until(() => directory.problemOf(id) === undefined)
    t.equal(directory.byId(id)?.suspended, true, 'the change from the time of the problem is applied')
    t.equal(directory.byApiKey(webApiKey)?.merchant.merchantId, registered?.data.merchantId)
    t.equal(directory.problemAt('10.0.0.1'), undefined)
    t.equal(errors.length, 1)
  },
)

t.test('does not treat a merchant without readable events as a sandbox merchant', async (t) => {
  const log = await openLog(t)
  const box = createSecretBox(Buffer.alloc(32, 7))
  const { id } = await new MerchantCommands(log, clock, box).register({ ...settings, sandbox: true }, context)
  await log.append(merchantStream(id), 0, [foreign()])
  await log.append(merchantStream('unknown'), 'no_stream', [foreign()])
  const directory = new MerchantDirectory(skipEvents(log), box, clock, () => undefined)
  await directory.start()
  t.teardown(() => directory.stop())
  t.same(
    directory.problems().map(({ problem, isSandbox }) => [problem.stream, isSandbox]),
    [
      [merchantStream(id), true],
      [merchantStream('unknown'), false],
    ],
  )
})
