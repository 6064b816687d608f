import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openTestReadModels, removeTestReadModels } from '../support/read-models.js'

const contender = fileURLToPath(new URL('./contender.js', import.meta.url))
const processes = 4
const leases = 6
const increments = 50

t.setTimeout(240_000)

interface Contender {
  readonly child: ChildProcess
  readonly lines: string[][]
  readonly ended: Promise<unknown>
}

t.test(
  'one process at a time holds a lease despite kills, and one of several conflicting updates succeeds',
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
      const lines: string[][] = []
      createInterface({ input: child.stdout }).on('line', (line) => lines.push(line.split(' ')))
      t.teardown(() => child.kill('SIGKILL'))
      return { child, lines, ended: once(child, 'close') }
    }
    const victim = start()
    const others = Array.from({ length: processes - 1 }, start)
    // The process is killed while it holds the lease, or shortly after, because its output arrives late.
    await once(createInterface({ input: victim.child.stdout! }), 'line')
    victim.child.kill('SIGKILL')
    await Promise.all([victim, ...others].map(({ ended }) => ended))

    t.strictSame(
      others.map(({ child }) => child.exitCode),
      others.map(() => 0),
    )
    const lines = (word: string) =>
      [victim, ...others].flatMap((each) => each.lines.filter(([first]) => first === word).map((line) => line.slice(1)))
    t.strictSame(lines('both'), [], 'no two processes hold it simultaneously')
    const tokens = lines('held').map(([token]) => Number(token))
    t.ok(tokens.length > (processes - 1) * leases, `the lease was held ${tokens.length} times`)
    t.equal(new Set(tokens).size, tokens.length, 'each holder has its own token')

    const added = lines('added').map(([value]) => Number(value))
    const all = Array.from({ length: (processes - 1) * increments }, (_, n) => n + 1)
    t.strictSame(
      added.sort((a, b) => a - b),
      all,
      'each value comes from one update',
    )
    t.match(await readModels.collection('counters').findOne({ _id: 'shared' }), { n: all.length })
  },
)
