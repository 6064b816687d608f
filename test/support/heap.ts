import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const toleratedBytes = 16_384

/** Returns the memory that the result of `work` keeps, in bytes. Garbage does not count, so it hardly depends on the machine. */
export async function heldBytes(work: () => unknown): Promise<number> {
  const before = await usedBytes()
  const held = await work()
  const bytes = (await usedBytes()) - before
  // The result stays in use until here.
  if (held === undefined) throw new Error('the work keeps nothing')
  return bytes
}

/** Waits until collections free nothing more: earlier tests of the process may just have dropped a service. */
async function usedBytes(): Promise<number> {
  let used = Number.POSITIVE_INFINITY
  for (;;) {
    await setImmediate()
    collectGarbage()
    const { heapUsed } = process.memoryUsage()
    if (heapUsed > used - toleratedBytes) return heapUsed
    used = heapUsed
  }
}
