import { setImmediate as nextTurn } from 'node:timers/promises'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { startTreeKeeper } from '../../src/audit/integrity/audit-tree-keeper.js'
import { requestVerification, savedRound, saveRound } from '../../src/audit/integrity/integrity-status.js'
import type { RunVerification, VerificationStep } from '../../src/audit/integrity/log-verification.js'
import { IntegrityCommands } from '../../src/commands/integrity/integrity-commands.js'
import { appendTransfers, seal, signer, startTestTree, tilesOf } from '../audit/integrity/sealed-log.js'
import { openTestStore, settableClock } from '../support/embedded-store.js'
import { temporaryDirectory } from '../support/processes.js'
import { openTestReadModels } from '../support/read-models.js'
import { until } from '../support/until.js'

type Task = Parameters<RunVerification>[0]

const mac = (text: string) => `${text.length} of the genuine key`
const finding = { kind: 'log', place: 'transfer-1@0', leafIndex: 3, problem: 'The event was edited.' } as const
const nothing = { treeSize: 10, findings: [], count: 0 }

/** Starts tree keepers whose verifications of the whole log are controlled by the test. */
async function openWorld(t: Test) {
  const store = await openTestStore(t)
  const directory = temporaryDirectory(t)
  const readModels = await openTestReadModels(directory)
  t.teardown(() => readModels.close())
  const { clock, set } = settableClock('2026-11-23T10:00:00.000Z')
  const commands = new IntegrityCommands(store, clock)
  const opening = await startTestTree(store)
  await appendTransfers(store, 0, 4)
  await seal(store, directory)
  /** The verifications of the whole log, as they start. */
  const tasks: Task[] = []
  const start = (run: RunVerification, recording: Pick<IntegrityCommands, 'report'> = commands) =>
    startTreeKeeper({
      ...{ store, readModels, clock, mac, copyTo: undefined, witnesses: [], publishFailed: () => undefined },
      ...{ tiles: tilesOf(directory), ...opening(), keptKey: () => signer, checkpointStores: [] },
      commands: Object.assign(Object.create(commands), { report: recording.report.bind(recording) }),
      logger: pino({ level: 'silent' }),
      metrics: { setTreeSize: () => undefined, setFindings: () => undefined },
      timing: { pollMs: 5, retryMs: 5 },
      verify: async (task, onStep, signal) => {
        if (task.occasion === 'start') return { ...nothing, verified: 10 }
        tasks.push(task)
        return run(task, onStep, signal)
      },
    })
  const round = () => savedRound(readModels, mac)
  return { readModels, commands, tasks, start, round, set, clock }
}

/** Posts the steps and then waits until it is interrupted. */
const untilInterrupted =
  (...steps: VerificationStep[]): RunVerification =>
  async (_, onStep, signal) => {
    for (const step of steps) onStep(step)
    while (!signal.aborted) await nextTurn()
    return undefined
  }
const complete: RunVerification = async () => ({ ...nothing, verified: 10 })

t.test('a verification continues after a restart, and the next one verifies everything again', async (t) => {
  const { start, tasks, round } = await openWorld(t)
  const first = start(untilInterrupted({ ...nothing, verified: 4 }, { ...nothing, verified: 7 }))
  await until(async () => (await round())?.verified === 7)
  await first.stop()
  const second = start(complete)
  await until(() => tasks.length >= 3)
  await second.stop()
  t.match(tasks, [
    { occasion: 'rest', from: 0 },
    { occasion: 'rest', from: 7 },
    { occasion: 'rest', from: 0 },
  ])
  t.match(await round(), { verified: 10, isDone: true })
})

t.test('progress is saved only after the findings before it are recorded', async (t) => {
  const { start, commands, round, tasks } = await openWorld(t)
  const step = { verified: 7, treeSize: 10, findings: [finding], count: 1 }
  let attempts = 0
  const unavailable = {
    report: async () => {
      attempts++
      throw new Error('the log is unavailable')
    },
  }
  const first = start(untilInterrupted(step), unavailable)
  await until(() => attempts > 0)
  await first.stop()
  t.equal((await round())?.verified, undefined)
  const second = start(untilInterrupted(step))
  await until(async () => (await round())?.verified === 7)
  await second.stop()
  t.match(tasks, [{ from: 0 }, { from: 0 }], 'the step was verified again')
  t.match((await commands.state()).findings, [finding])
})

t.test('forged or old progress spares no event from verification', async (t) => {
  const { start, readModels, round, tasks, set } = await openWorld(t)
  const forged = {
    occasion: 'rest',
    startedAt: '2026-11-23T10:00:00.000Z',
    verified: 9,
    request: '',
    isDone: false,
  } as const
  await saveRound(readModels, forged, () => 'forged')
  t.equal(await round(), undefined)
  const first = start(untilInterrupted({ ...nothing, verified: 7 }))
  await until(async () => (await round())?.verified === 7)
  await first.stop()
  set('2026-11-24T10:00:01.000Z')
  const second = start(untilInterrupted())
  await until(() => tasks.length === 2)
  await second.stop()
  t.match(tasks, [{ from: 0 }, { from: 0 }])
})

t.test("an auditor's request runs at once, from the beginning, and once", async (t) => {
  const { start, readModels, tasks, round, clock, set } = await openWorld(t)
  const keeper = start(async (task, ...rest) => {
    const run = task.occasion === 'rest' ? untilInterrupted({ ...nothing, verified: 7 }) : complete
    return run(task, ...rest)
  })
  await until(async () => (await round())?.verified === 7)
  set('2026-11-23T10:05:00.000Z')
  await requestVerification(readModels, clock())
  await until(async () => (await round())?.isDone === true)
  await keeper.stop()
  t.match(tasks, [{ occasion: 'rest' }, { occasion: 'requested', from: 0 }])
  const again = start(untilInterrupted())
  await until(() => tasks.length === 3)
  await again.stop()
  t.equal(tasks[2]?.occasion, 'rest', 'a restart does not repeat the request')
})
