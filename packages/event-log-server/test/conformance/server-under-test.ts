import { type ChildProcess, spawn } from 'node:child_process'
import { type AddressInfo, createServer } from 'node:net'
import { createInterface } from 'node:readline'

const main = new URL('open-server.js', import.meta.url).pathname

/** The server under test, a process that can be killed and restarted on the same port. */
export class ServerUnderTest {
  port = 0
  #child: ChildProcess | undefined
  #failure: string | undefined

  constructor(private readonly options: readonly string[]) {}

  async start(): Promise<void> {
    this.port ||= await freePort()
    const child = spawn(process.execPath, ['--enable-source-maps', main, '--port', `${this.port}`, ...this.options], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#child = child
    child.on('exit', (code, signal) => {
      if (this.#child === child) this.#failure = `the server ended unexpectedly: ${code ?? signal}`
    })
    await new Promise<void>((resolve, reject) => {
      createInterface(child.stdout).once('line', () => resolve())
      child.once('exit', () => reject(new Error('the server did not start')))
    })
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  async restart(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    const exited = new Promise((resolve) => child?.once('exit', resolve))
    child?.kill('SIGKILL')
    await exited
    await this.start()
  }

  /** Stops the server and returns its failure, if it had one. */
  stop(): string | undefined {
    const child = this.#child
    this.#child = undefined
    child?.kill('SIGTERM')
    return this.#failure
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })
}
