import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Append,
  checkLogFile,
  KeyReservedError,
  logPath,
  openEventLog,
  type RecordedEvent,
  type SharedEventLog,
  StoreUnavailableError,
  WrongExpectedRevisionError,
} from '@transferd/event-log'
import { Database } from '@transferd/event-log/sqlite'
import { scheduler, temporary } from '../environment.js'
import type { Random } from '../random.js'
import type { Owner } from '../scheduler.js'
import { must } from '../violation.js'
import { LogDisk } from './log-disk.js'
import { type Call, LogModel } from './log-model.js'
import '../message-ports.js'

// Loading the writer on demand would take real time.
await import(new URL('./writer/append-loop.js', import.meta.resolve('@transferd/event-log')).href)

const streams = ['a', 'b', 'c', 'd']
const pageSize = 50
const maxRepeats = 50
/** The numbers of checkpoints and stops. */
const crashesInStep = 0.5
const maxHealingMs = 60_000

interface Running {
  readonly process: Owner
  readonly log: SharedEventLog
  readonly end: AbortController
}

/** An embedded log over files that a disk loses in part, and the clients of the log. */
export class LogWorld {
  readonly model = new LogModel()
  readonly #root = mkdtempSync(join(temporary, 'simulation-'))
  #disk: LogDisk
  #running: Running | undefined
  /** The process that opens or closes the log. */
  #starting: Owner | undefined
  /** Wait for the end of a process. */
  #mourners: (() => void)[] = []
  #opened = 0
  #clients = 0
  #failure: unknown
  #appended = 0

  constructor(
    random: Random,
    readonly note: (text: string) => void,
  ) {
    this.#disk = new LogDisk(this.#directory(), random, () => this.#crashed())
    scheduler.afterTask = () => {
      if (this.#failure) throw this.#failure
    }
  }

  get events(): number {
    return this.model.seen.length
  }

  close(): void {
    if (!this.#disk.isDead) this.#disk.crashNow(false)
    rmSync(this.#root, { recursive: true })
  }

  /** Opens the log, as often as it takes. */
  async open(): Promise<void> {
    while (!this.#running) {
      const process: Owner = { name: `process ${this.#opened}`, isDead: false, skewMs: 0, pausedUntilMs: 0 }
      const { directory } = this.#disk
      try {
        this.#starting = process
        const log = await scheduler.call(process, 0, () => openEventLog({ directory, writerThread: false }))
        this.#running = { process, log, end: new AbortController() }
      } catch (error) {
        if (!this.#disk.isDead) throw error
        this.#disk = this.#disk.next(this.#directory())
      }
    }
    const problems = checkLogFile(this.#disk.directory, 'full')
    must('nothing-lost', problems.length === 0, () => `the log is damaged: ${problems.join(' ')}`)
    this.#follow(this.#running)
    await this.check()
  }

  async check(): Promise<void> {
    const running = this.#running
    if (!running) return
    const { process, log } = running
    const events: RecordedEvent[] = []
    await this.#inProcess(process, async () => {
      for (let atEnd = false; !atEnd; ) {
        const after = events.at(-1)?.position
        const page = await log.readAll({ maxCount: pageSize, ...(after && { after }) })
        events.push(...page.events)
        atEnd = page.atEnd
      }
    })
    if (!process.isDead) this.model.check(events)
  }

  /** Starts a client that appends, and repeats until it knows the outcome. */
  append(random: Random): void {
    const call = this.model.add(this.#appendsOf(random))
    this.#run(async () => {
      await this.#attempt(call, random)
      if (call.results && random.chance(0.2)) await this.#attempt(call, random)
    })
  }

  async checkpoint(random: Random): Promise<void> {
    if (!this.#running) return
    if (random.chance(crashesInStep)) this.planCrash(random, 0)
    const { process } = this.#running
    const path = logPath(this.#disk.directory)
    // Like the checkpointer of another process.
    await this.#inProcess(process, async () => {
      const db = new Database(path)
      try {
        db.pragma('synchronous = FULL')
        db.pragma('wal_checkpoint(PASSIVE)')
      } catch (error) {
        if (!(error instanceof Database.SqliteError)) throw error
        this.note(`the checkpoint fails: ${error.message}`)
      } finally {
        if (!process.isDead) db.close()
      }
    })
  }

  async stop(random: Random): Promise<void> {
    const running = this.#running
    if (!running) return
    if (random.chance(crashesInStep)) this.planCrash(random, 0)
    this.#running = undefined
    running.end.abort()
    this.#starting = running.process
    await this.#inProcess(running.process, () => running.log.close())
    if (running.process.isDead) this.#disk = this.#disk.next(this.#directory())
    // The log is opened without faults, for the reason that LogDisk states.
    Object.assign(this.#disk, { isFull: false, failingSyncs: 0 })
    await this.open()
  }

  crash(isPowerCut: boolean): void {
    if (this.#running) this.#disk.crashNow(isPowerCut)
  }

  planCrash(random: Random, skip = random.below(4)): void {
    const time = random.pick(['before', 'during', 'after'] as const)
    this.#disk.crash = { skip, time, isPowerCut: random.chance(0.6) }
  }

  failSyncs(count: number): void {
    this.#disk.failingSyncs = count
  }

  fill(forMs: number): void {
    const disk = this.#disk
    disk.isFull = true
    scheduler.add(forMs, () => {
      disk.isFull = false
    })
  }

  /** Ends the faults and the calls of all clients. */
  async heal(): Promise<void> {
    const untilMs = scheduler.nowMs + maxHealingMs
    while (this.#clients > 0 || !this.#running) {
      Object.assign(this.#disk, { isFull: false, failingSyncs: 0, crash: undefined })
      must('settles', scheduler.nowMs < untilMs, () => 'a client or the log does not end')
      await scheduler.sleep(20)
    }
  }

  #appendsOf(random: Random): readonly Append[] {
    const count = random.chance(0.3) ? 1 + random.below(3) : 1
    return Array.from({ length: count }, () => {
      const number = ++this.#appended
      const event = () => ({
        id: randomUUID(),
        type: 'happened',
        data: { number, text: 'x'.repeat(random.pick([0, 100, 3_000, 9_000])) },
        metadata: {},
      })
      const events = Array.from({ length: 1 + random.below(random.chance(0.1) ? 20 : 3) }, event)
      if (random.chance(0.25)) {
        const reserves = [`key ${random.below(6)}`]
        return { stream: `reserving ${number}`, expectedRevision: 'no_stream', events, reserves } as const
      }
      const stream = random.pick(streams)
      const last = this.model.seen.filter((event) => event.stream === stream).at(-1)?.revision
      const exact = last === undefined ? 'no_stream' : last + (random.chance(0.1) ? 1 : 0)
      return { stream, expectedRevision: random.chance(0.25) ? 'any' : exact, events }
    })
  }

  async #attempt(call: Call, random: Random): Promise<void> {
    for (let repeat = 0; repeat < maxRepeats; repeat++) {
      if (this.#running && (await this.#appendOnce(call, this.#running))) return
      await scheduler.sleep(1 + random.below(100))
    }
    must('settles', false, () => 'an append has no outcome')
  }

  /** Returns whether the outcome is known. */
  async #appendOnce(call: Call, { process, log }: Running): Promise<boolean> {
    let isKnown = false
    const { appends } = call
    await this.#inProcess(process, async () => {
      try {
        const results =
          appends.length > 1 || appends[0]!.reserves
            ? await log.appendInOrder(appends)
            : [await log.append(appends[0]!.stream, appends[0]!.expectedRevision, appends[0]!.events)]
        this.model.acknowledge(call, results)
        isKnown = true
      } catch (error) {
        if (error instanceof WrongExpectedRevisionError || error instanceof KeyReservedError) {
          this.model.reject(call)
          isKnown = true
        } else if (!(error instanceof StoreUnavailableError)) throw error
        else this.note(error.message)
      }
    })
    return isKnown
  }

  #follow({ process, log, end }: Running): void {
    const from = this.model.seen.at(-1)?.position
    const options = { signal: end.signal, ...(from && { after: from }) }
    const follow = async () => {
      try {
        for await (const page of log.subscribeToAll(options)) this.model.see(page.events)
      } catch (error) {
        if (!end.signal.aborted) throw error
      }
    }
    this.#run(() => this.#inProcess(process, follow), false)
  }

  /** Runs a task of the process, and returns when it ends or the process is dead. */
  async #inProcess(process: Owner, run: () => Promise<void>): Promise<void> {
    const done = scheduler.call(process, 0, run).catch((error: unknown) => {
      if (!process.isDead) throw error
    })
    await Promise.race([done, this.#death(process)])
  }

  #death(process: Owner): Promise<void> {
    if (process.isDead) return Promise.resolve()
    return new Promise((resolve) => {
      this.#mourners.push(resolve)
    })
  }

  #run(run: () => Promise<void>, isClient = true): void {
    if (isClient) this.#clients++
    run().then(
      () => {
        if (isClient) this.#clients--
      },
      (error: unknown) => {
        this.#failure ??= error
      },
    )
  }

  #crashed(): void {
    const { process } = this.#running ?? { process: this.#starting }
    this.note(`${process?.name} crashes`)
    if (process) process.isDead = true
    const isRunning = this.#running !== undefined
    this.#running = undefined
    scheduler.add(
      0,
      () => {
        for (const mourn of this.#mourners.splice(0)) mourn()
        if (!isRunning) return
        this.#disk = this.#disk.next(this.#directory())
        this.#run(() => this.open(), false)
      },
      scheduler.world,
    )
  }

  #directory(): string {
    const directory = join(this.#root, `${this.#opened++}`)
    mkdirSync(directory)
    return directory
  }
}
