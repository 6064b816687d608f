import { EventEmitter } from 'node:events'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import workerThreads from 'node:worker_threads'
import { scheduler } from './environment.js'

const maxDelayMs = 3

/** A port whose messages arrive in virtual time. */
class SimulatedPort extends EventEmitter {
  readonly received: unknown[] = []
  other: SimulatedPort | undefined
  #isStarted = false

  override on(name: string, listener: (...args: unknown[]) => void): this {
    super.on(name, listener)
    if (name === 'message') this.start()
    return this
  }

  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    for (let left = this.received.length; left > 0; left--) this.#deliver()
  }

  postMessage(message: unknown, transferred: readonly unknown[] = []): void {
    const { other } = this
    if (!other) return
    other.received.push(transferred.length > 0 ? message : structuredClone(message))
    if (other.#isStarted) other.#deliver()
  }

  close(): void {
    for (const port of [this, this.other]) if (port) scheduler.add(0, () => port.emit('close'))
    if (this.other) this.other.other = undefined
    this.other = undefined
  }

  ref(): void {}

  unref(): void {}

  #deliver(): void {
    scheduler.add(scheduler.random.below(maxDelayMs), () => {
      // The receiver may have taken it already.
      if (this.received.length > 0) this.emit('message', this.received.shift())
    })
  }
}

class SimulatedChannel {
  readonly port1 = new SimulatedPort()
  readonly port2 = new SimulatedPort()

  constructor() {
    this.port1.other = this.port2
    this.port2.other = this.port1
  }
}

Object.assign(workerThreads, {
  MessageChannel: SimulatedChannel,
  receiveMessageOnPort: ({ received }: SimulatedPort) =>
    received.length > 0 ? { message: received.shift() } : undefined,
})
// Its notifications arrive in real time. Without it, the log is polled.
fs.watch = () => {
  throw new Error('files are not watched')
}
syncBuiltinESMExports()
