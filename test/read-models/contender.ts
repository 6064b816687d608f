import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runWithLease } from '../../src/read-models/leases.js'
import { openTestReadModels } from '../support/read-models.js'

/**
 * One of several processes of a test. Takes a lease repeatedly and, while it holds it, a file that only one process
 * can have. Then increments a counter, guarded by the value read. Prints a line for each.
 */
const [directory, leases, increments] = process.argv.slice(2)
const readModels = await openTestReadModels(directory!)
const held = join(directory!, 'held')
const say = (...words: unknown[]): void => {
  process.stdout.write(`${words.join(' ')}\n`)
}

for (let n = 0; n < Number(leases); n++) {
  await runWithLease(readModels, 'contended', { signal: new AbortController().signal }, async ({ token }) => {
    const other = takeFile()
    if (other) {
      say('both', process.pid, other)
      return
    }
    say('held', token)
    await sleep(20)
    rmSync(held)
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
  say('added', n + 1)
}
await readModels.close()

/** Returns the live process that holds the file, if there is one. */
function takeFile(): number | undefined {
  try {
    writeFileSync(held, String(process.pid), { flag: 'wx' })
    return undefined
  } catch {
    const holder = Number(readFileSync(held, 'utf8'))
    if (isAlive(holder)) return holder
    writeFileSync(held, String(process.pid))
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
