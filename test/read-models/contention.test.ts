import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openTestReadModels, removeTestReadModels, withoutAtomicUpdates } from '../support/read-models.js'

const contender = fileURLToPath(new URL('./contender.js', import.meta.url))
const processes = 4
const leases = 6
const increments = 50

t.setTimeout(240_000)

interface Contender {
  readonly child: ChildProcess
  readonly said: string[][]
  readonly gone: Promise<unknown>
}

t.test(
  'one process at a time holds a lease despite kills, and one of the updates guarded by the same value succeeds',
  { skip: withoutAtomicUpdates },
  async (t) => {
    const directory = t.testdir()
    const readModels = await openTestReadModels(directory)
    t.teardown(async () => {
      await readModels.close()
      await removeTestReadModels(directory)
    })
    await readModels.collection('counters').bulkWrite([{ insertOne: { document: { _id: 'shared', n: 0 } } }])
    const start = (): Contender => {
      const args = [contender, directory, String(leases), String(increments)]
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
      const said: string[][] = []
      createInterface({ input: child.stdout }).on('line', (line) => said.push(line.split(' ')))
      t.teardown(() => child.kill('SIGKILL'))
      return { child, said, gone: once(child, 'close') }
    }
    const victim = start()
    const others = Array.from({ length: processes - 1 }, start)
    // The process is killed while it holds the lease, or shortly after, because its output arrives late.
    await once(createInterface({ input: victim.child.stdout! }), 'line')
    victim.child.kill('SIGKILL')
    await Promise.all([victim, ...others].map(({ gone }) => gone))

    t.strictSame(
      others.map(({ child }) => child.exitCode),
      others.map(() => 0),
    )
    const said = (word: string) =>
      [victim, ...others].flatMap((each) => each.said.filter(([first]) => first === word).map((line) => line.slice(1)))
    t.strictSame(said('both'), [], 'no two held it at once')
    const tokens = said('held').map(([token]) => Number(token))
    t.ok(tokens.length > (processes - 1) * leases, `${tokens.length} times it was held`)
    t.equal(new Set(tokens).size, tokens.length, 'each holder had a token of its own')

    const added = said('added').map(([value]) => Number(value))
    const all = Array.from({ length: (processes - 1) * increments }, (_, n) => n + 1)
    t.strictSame(
      added.sort((a, b) => a - b),
      all,
      'each value was reached by one update',
    )
    t.match(await readModels.collection('counters').findOne({ _id: 'shared' }), { n: all.length })
  },
)
