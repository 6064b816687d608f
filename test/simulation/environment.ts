/**
 * Replaces time, timers, randomness and asynchronous file access of this process with simulated ones. It must be imported before
 * everything else, because modules keep their imports.
 */
import crypto from 'node:crypto'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'
import { Scheduler, type Task } from './scheduler.js'

export const scheduler = new Scheduler()
/** Where the files of the worlds are: in memory if the system supports that. */
export const temporary = fs.existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

class SimulatedTimer {
  #task: Task | undefined

  constructor(
    private readonly run: () => void,
    private readonly delayMs: number,
    private readonly isRepeated: boolean,
  ) {
    this.refresh()
  }

  refresh(): this {
    this.clear()
    this.#task = scheduler.add(this.delayMs, () => {
      if (this.isRepeated) this.refresh()
      this.run()
    })
    return this
  }

  clear(): void {
    if (this.#task) this.#task.run = undefined
  }

  close(): this {
    this.clear()
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }
}

type Callback = (...args: unknown[]) => void

const atLeastMs = (ms: unknown) => Math.max(1, Number(ms) || 0)
const setTimer = (run: Callback, ms?: number, ...args: unknown[]) =>
  new SimulatedTimer(() => run(...args), atLeastMs(ms), false)
const repeat = (run: Callback, ms?: number, ...args: unknown[]) =>
  new SimulatedTimer(() => run(...args), atLeastMs(ms), true)
const setSoon = (run: Callback, ...args: unknown[]) => new SimulatedTimer(() => run(...args), 0, false)
const clear = (timer?: SimulatedTimer) => timer?.clear?.()

const replaced = {
  setTimeout: setTimer,
  setInterval: repeat,
  setImmediate: setSoon,
  clearTimeout: clear,
  clearInterval: clear,
  clearImmediate: clear,
}
Object.assign(globalThis, replaced)
Object.assign(timers, replaced)

function promised(delayMs: number, value: unknown, signal: AbortSignal | undefined): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      timer.clear()
      reject(Object.assign(new Error('The operation was aborted'), { name: 'AbortError', code: 'ABORT_ERR' }))
    }
    const timer = new SimulatedTimer(
      () => {
        signal?.removeEventListener('abort', abort)
        resolve(value)
      },
      delayMs,
      false,
    )
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}

Object.assign(timersPromises, {
  setTimeout: (ms?: number, value?: unknown, options?: { signal?: AbortSignal }) =>
    promised(atLeastMs(ms), value, options?.signal),
  setImmediate: (value?: unknown, options?: { signal?: AbortSignal }) => promised(0, value, options?.signal),
})
AbortSignal.timeout = (ms) => {
  const controller = new AbortController()
  setTimer(() => controller.abort(new DOMException('The operation timed out', 'TimeoutError')), ms)
  return controller.signal
}

// Node keeps a combined signal that has a listener until it aborts, which those of a crashed node never do.
AbortSignal.any = (signals) => {
  const controller = new AbortController()
  for (const signal of signals) {
    const abort = () => controller.abort(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  }
  return controller.signal
}

const RealDate = Date
const SimulatedDate = function (...args: unknown[]) {
  if (!new.target) return new RealDate(scheduler.wallMs()).toString()
  return args.length === 0 ? new RealDate(scheduler.wallMs()) : Reflect.construct(RealDate, args)
}
SimulatedDate.prototype = RealDate.prototype
SimulatedDate.now = () => scheduler.wallMs()
SimulatedDate.parse = RealDate.parse
SimulatedDate.UTC = RealDate.UTC
globalThis.Date = SimulatedDate as unknown as DateConstructor
RealDate.prototype.constructor = SimulatedDate
performance.now = () => scheduler.nowMs + 1_000

Math.random = () => scheduler.random.fraction()
const fill = <Bytes extends Uint8Array>(bytes: Bytes): Bytes => {
  scheduler.random.fill(bytes)
  return bytes
}
const hex = (bytes: Uint8Array, from: number, to: number) => Buffer.from(bytes.subarray(from, to)).toString('hex')
Object.assign(crypto, {
  randomBytes: (size: number) => fill(Buffer.alloc(size)),
  randomFillSync: fill,
  randomInt: (a: number, b?: number) => (b === undefined ? 0 : a) + scheduler.random.below(b === undefined ? a : b - a),
  randomUUID: () => {
    const bytes = fill(new Uint8Array(16))
    bytes[6] = (bytes[6]! & 0x0f) | 0x40
    bytes[8] = (bytes[8]! & 0x3f) | 0x80
    return `${hex(bytes, 0, 4)}-${hex(bytes, 4, 6)}-${hex(bytes, 6, 8)}-${hex(bytes, 8, 10)}-${hex(bytes, 10, 16)}`
  },
})

// Completions of real file operations would arrive in any order.
const sync = fs as unknown as { readonly [name: string]: (...args: unknown[]) => unknown }
const promises = fs.promises as unknown as { [name: string]: unknown }
for (const name of Object.keys(promises)) {
  const operation = sync[`${name}Sync`]
  if (operation && name !== 'open') promises[name] = async (...args: unknown[]) => operation(...args)
}
promises.open = async (path: string, flags?: string | number, mode?: number) => {
  const fd = fs.openSync(path, flags ?? 'r', mode)
  return {
    fd,
    stat: async () => fs.fstatSync(fd),
    chmod: async (to: number) => fs.fchmodSync(fd, to),
    readFile: async (options?: BufferEncoding) => fs.readFileSync(fd, options),
    writeFile: async (data: string | Uint8Array) => fs.writeFileSync(fd, data),
    read: async (buffer: Uint8Array, offset: number, length: number, position: number | null) => ({
      bytesRead: fs.readSync(fd, buffer, offset, length, position),
      buffer,
    }),
    sync: async () => undefined,
    datasync: async () => undefined,
    close: async () => fs.closeSync(fd),
    [Symbol.asyncDispose]: async () => fs.closeSync(fd),
  }
}
// Nothing here survives the process, so waiting for the disk would only cost time.
fs.fsyncSync = () => undefined
fs.fdatasyncSync = () => undefined
syncBuiltinESMExports()
