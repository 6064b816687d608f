import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runWithLease } from '../../src/read-models/leases.js'
import { openTestReadModels } from '../support/read-models.js'

/**
 * One of several competing processes. It takes a lease repeatedly and, while it holds the lease, a file that only one
 * process can have. Then it increments a counter, guarded by the value read. It prints a line for each.
 */
const [directory, leases, increments] = process.argv.slice(2)
const readModels = await openTestReadModels(directory!)
const heldFile = join(directory!, 'held')
const print = (...words: unknown[]): void => {
  process.stdout.write(`${words.join(' ')}\n`)
}

for (let n = 0; n < Number(leases); n++) {
  await runWithLease(readModels, 'contended', { signal: new AbortController().signal }, async ({ token }) => {
    const other = takeFile()
    if (other) {
      print('both', process.pid, other)
      return
    }
    print('held', token)
    await sleep(20)
    rmSync(heldFile)
  })
}
const counters = readModels.collection('counters')
for (let added = 0; added < Number(increments); ) {
  const found = (await counters.findOne({ _id: 'shared' })) as { n: number } | null
  const { n } = found ?? { n: 0 }
  const update = { filter: { _id: 'shared', n }, update: { $set: { n: n + 1 } } }
  const { matchedCount } = await counters.bulkWrite([{ updateOne: update }])
  if (matchedCount === 0) continue
  added++
  print('added', n + 1)
}
await readModels.close()

/** Takes the file. Returns the live process that already holds it, if any. */
function takeFile(): number | undefined {
  try {
    writeFileSync(heldFile, String(process.pid), { flag: 'wx' })
    return undefined
  } catch {
    const holder = Number(readFileSync(heldFile, 'utf8'))
    if (isAlive(holder)) return holder
    writeFileSync(heldFile, String(process.pid))
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
