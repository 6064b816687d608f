import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { projectionStatus } from '../../src/projections/projection-status.js'
import { expectedDocuments, storedDocuments, wholeLog } from '../support/expected-documents.js'
import { long } from '../support/long.js'
import { until } from '../support/until.js'
import { type TestStores, testStores } from './stores.js'

async function projecting(t: Test, directory: string): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('projection-process.js', import.meta.url))
  const child = spawn(process.execPath, [program, directory], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout!, 'data')
  return child
}

async function holders(stores: TestStores): Promise<Set<number>> {
  const status = await projectionStatus(stores)
  return new Set(status.flatMap(({ holder }) => (holder === null ? [] : [Number(holder.split('/')[1])])))
}

t.test('one of two processes runs a projection, and the other continues after a kill', async (t) => {
  const stores = await testStores(t)
  const first = await projecting(t, stores.directory)
  await until(async () => (await projectionStatus(stores)).every(({ holder }) => holder !== null))
  const second = await projecting(t, stores.directory)
  await stores.work(50)
  await stores.caughtUp()
  t.strictSame([...(await holders(stores))], [first.pid], 'the second process waits')

  const working = stores.work(200)
  await stores.work(10)
  first.kill('SIGKILL')
  await working
  await stores.caughtUp()
  t.strictSame([...(await holders(stores))], [second.pid])
  t.strictSame(await storedDocuments(stores.readModels), expectedDocuments(await wholeLog(stores.store)))
})

t.test('the read models equal the fold of the log after repeated kills', async (t) => {
  const stores = await testStores(t)
  let appending = true
  const working = (async () => {
    while (appending) await stores.work(20)
  })()
  for (let n = 0; n < (long ? 5 : 3); n++) {
    const child = await projecting(t, stores.directory)
    await new Promise((resolve) => setTimeout(resolve, 40 * n))
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  appending = false
  await working
  await projecting(t, stores.directory)
  await stores.caughtUp()
  t.strictSame(await storedDocuments(stores.readModels), expectedDocuments(await wholeLog(stores.store)))
})
