import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** Returns the memory that the result of `work` keeps, in bytes. Garbage does not count, so it hardly depends on the machine. */
export async function heldBytes(work: () => unknown): Promise<number> {
  // What a caller has just dropped can be in use until the next turn.
  await setImmediate()
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  const held = await work()
  await setImmediate()
  collectGarbage()
  const bytes = process.memoryUsage().heapUsed - before
  // The result stays in use until here.
  if (held === undefined) throw new Error('the work keeps nothing')
  return bytes
}
