import { createHash, randomUUID } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { derivedEventId } from '../../src/commands/ids.js'
import { formatShortest } from '../../src/domain/money.js'
import type { RecordedEvent } from '../../src/event-store/event-store.js'
import type { HttpServices } from '../../src/http/services.js'
import { markRestored } from '../../src/operations/files/restored-mark.js'
import { connectEndpoints, Endpoints } from './endpoint.js'
import { scheduler, temporary } from './environment.js'
import { type FaultRates, faultyReadModels, faultyStore, faultyWallet, noFaults } from './faults.js'
import {
  type Foundation,
  foundation,
  type SimulatedUser,
  SimulatedWallet,
  walletEmail,
  walletPassword,
} from './foundation.js'
import { LogModel } from './log-model.js'
import { SimulatedNode } from './node.js'
import { Random } from './random.js'
import type { Owner } from './scheduler.js'
import { must } from './violation.js'

const requestTimeoutMs = 3_000
const stopTimeoutMs = 30_000

/** A payment that the bank has executed. */
interface BankPayment {
  readonly trackingId: string
  readonly amountMinor: number
  readonly by: string
  /** Whether the comparison of the bank with a restored log has found it. */
  isKnown: boolean
}

interface Backup {
  readonly directory: string
  readonly at: string
  readonly log: ReturnType<Foundation['log']['snapshot']>
  readonly documents: ReturnType<Foundation['documents']['snapshot']>
  readonly erased: ReadonlySet<string>
}

/** One world: nodes of the service, the clients and the systems around them, and the account of them. */
export class World {
  readonly random: Random
  readonly faultRandom: Random
  model = new LogModel()
  readonly endpoints: Endpoints
  readonly nodes: SimulatedNode[] = []
  readonly bank: BankPayment[] = []
  /** The users with their sessions. */
  readonly users: readonly SimulatedUser[]
  /** The owner of operations that are executed late and of callbacks on their way, until the store is replaced by its backup. */
  late: Owner = { ...scheduler.world, name: 'late' }
  readonly base: Foundation
  readonly wallet = new SimulatedWallet()
  readonly directory: string
  rates: FaultRates = noFaults
  readonly cut = new Set<SimulatedNode>()
  readonly trace = createHash('sha256')
  readonly lines: string[] | undefined
  readonly logLines: string[] = []
  /** The clients that have not ended. */
  readonly clients = new Set<Promise<void>>()
  /** The customers whose erasure was acknowledged. */
  readonly erased = new Set<string>()
  /** The transfers, and the references of their refunds, of which a restored log knows less than the wallet. */
  readonly forgotten = new Set<string>()
  backup: Backup | undefined
  /** The checkpoints of the tree that were seen. */
  readonly checkpoints: { readonly size: number; readonly root: string }[] = []
  /** When a seal failed last, after which the next attempt waits. */
  sealFailedMs = Number.NEGATIVE_INFINITY
  failure: unknown
  #taken = 0

  constructor(
    readonly seed: number,
    { keepsLines = false } = {},
  ) {
    this.base = foundation()
    this.users = this.base.users.map((user) => ({ ...user }))
    this.wallet.open(walletEmail, walletPassword, 1_000_000_00n)
    this.lines = keepsLines ? [] : undefined
    scheduler.reset(seed, this.base.nowMs)
    this.random = new Random(seed, 2)
    this.faultRandom = new Random(seed, 3)
    this.directory = mkdtempSync(join(temporary, 'simulation-'))
    cpSync(this.base.directory, this.directory, { recursive: true })
    this.base.log.restore(this.base.logSnapshot)
    this.base.documents.restore(this.base.documentsSnapshot)
    for (const event of this.base.log.events) this.#take(event)
    this.endpoints = new Endpoints(
      this.faultRandom,
      () => this.rates,
      () => this.late,
      (trackingId, received) => {
        const [place, last] = [received.length - 1, received.at(-1)!]
        const expected = this.model.transfers.get(trackingId)?.callbacks[place]
        const text = expected && `${expected.status} ${formatShortest(expected.amountMinor)}`
        const got = `${last.status} ${last.amountText}`
        must('callbacks', text === got, () => `callback ${place + 1} of ${trackingId} is ${got}, not ${text}`)
      },
    )
    connectEndpoints(this.endpoints)
    scheduler.afterTask = () => this.#afterTask()
  }

  note(text: string): void {
    const line = `${scheduler.nowMs} ${text}`
    this.trace.update(`${line}\n`)
    this.lines?.push(line)
  }

  addNode(name: string): SimulatedNode {
    const { log, documents, masterKey } = this.base
    const linkOf = (to: 'stores' | 'wallet') => ({
      // The process that opens the connection.
      owner: scheduler.current,
      random: this.faultRandom,
      rates: () => this.rates,
      isCut: () => to === 'stores' && this.cut.has(node),
      late: this.late,
    })
    const opened: { crash(): void }[] = []
    const openLog = () => {
      const store = log.open()
      opened.push(store)
      return faultyStore(store, linkOf('stores'))
    }
    const node: SimulatedNode = new SimulatedNode(
      name,
      this.directory,
      masterKey,
      {
        openLog,
        openReadModels: () => faultyReadModels(documents.open(), linkOf('stores')),
        wallet: faultyWallet(this.wallet, linkOf('wallet')),
        drop: () => {
          for (const store of opened.splice(0)) store.crash()
        },
      },
      (_, line) => this.#logged(node, line),
    )
    this.nodes.push(node)
    return node
  }

  /** Starts a node, and repeats that until it succeeds, like a supervisor of processes. */
  async start(node: SimulatedNode): Promise<void> {
    // Unless someone else has started it.
    while (node.process.isDead) {
      const process = node.boot()
      this.note(`${node.name} starts`)
      const starting = scheduler
        .call(process, 0, () => node.start())
        .then(
          () => true,
          (error: Error) => {
            if (error.name !== 'StoreUnavailableError' && error.name !== 'ReadModelsUnavailableError') throw error
            return false
          },
        )
      // A crash starts the next process itself.
      const isStarted = await Promise.race([starting, node.death.then(() => true)])
      if (isStarted) return
      node.crash()
      await scheduler.sleep(500)
    }
  }

  /** Starts a client. A violation that it finds fails the world. */
  run(client: () => Promise<void>): void {
    const running: Promise<void> = client().then(
      () => void this.clients.delete(running),
      (error) => {
        this.failure ??= error
      },
    )
    this.clients.add(running)
  }

  /** Sends a request to a node over a network that loses and repeats. Returns `undefined` if the outcome is unknown. */
  async request(options: InjectOptions, node = this.anyNode()): Promise<LightMyRequestResponse | undefined> {
    const { faultRandom: random } = this
    const rate = this.rates.network
    const send = () => scheduler.call(node.process, random.below(10), () => node.request(options), random.below(10))
    const fate = random.chance(rate) ? random.below(3) : -1
    if (!node.service || fate === 0) {
      await scheduler.sleep(random.below(200))
      return undefined
    }
    if (fate === 1) void send().catch(() => undefined)
    const response = await Promise.race([send(), scheduler.sleep(requestTimeoutMs)])
    const answer = fate === 2 ? undefined : response
    this.note(`${options.method ?? 'GET'} ${String(options.url)} ${answer?.statusCode ?? 'unknown'}`)
    if (!answer) return undefined
    must('settles', answer.statusCode !== 500, () => `${String(options.url)} responded with ${answer.body}`)
    this.base.secrets.check(answer.body, `the response of ${String(options.url)}`)
    return answer
  }

  /** Repeats a request until its outcome is known, on any node. */
  async repeated(options: () => InjectOptions, tries = 10): Promise<LightMyRequestResponse | undefined> {
    for (let i = 0; i < tries; i++) {
      const response = await this.request(options())
      if (response && response.statusCode !== 429 && response.statusCode < 500) return response
      await scheduler.sleep(150 + this.random.below(500))
    }
    return undefined
  }

  anyNode(): SimulatedNode {
    const alive = this.nodes.filter(({ service }) => service !== undefined)
    return this.random.pick(alive.length > 0 ? alive : this.nodes)
  }

  /** Copies the log, the read models with the customers' keys, and the tree. */
  backUp(): void {
    const directory = join(this.directory, 'backup')
    rmSync(directory, { recursive: true, force: true })
    const tree = join(this.directory, 'tree')
    if (existsSync(tree)) cpSync(tree, directory, { recursive: true })
    const { log, documents } = this.base
    const at = new Date().toISOString()
    this.backup = { directory, at, log: log.snapshot(), documents: documents.snapshot(), erased: new Set(this.erased) }
    this.note('the backup is made')
  }

  /** Replaces everything by the backup, while no node runs. What happened after it is forgotten, except by the world around it. */
  restore(): void {
    const { backup, base } = this
    if (!backup) return
    this.late.isDead = true
    this.late = { ...scheduler.world, name: 'late' }
    const lost = this.model
    base.log.restore(backup.log)
    base.documents.restore(backup.documents)
    const tree = join(this.directory, 'tree')
    rmSync(tree, { recursive: true, force: true })
    if (existsSync(backup.directory)) cpSync(backup.directory, tree, { recursive: true })
    const mark = { id: randomUUID(), backupCreatedAt: backup.at, restoredAt: new Date().toISOString() }
    // The node that starts first.
    const { dataDirectory } = this.nodes[0]!.configuration
    markRestored(dataDirectory, { ...mark, events: null, lastEventAt: null, lostEvents: null })
    this.model = new LogModel()
    this.#taken = 0
    for (const event of base.log.events) this.#take(event)
    for (const [trackingId, { statuses, payouts }] of lost.transfers) {
      const isSame = this.model.transfers.get(trackingId)?.statuses.length === statuses.length
      if (!isSame) this.forgotten.add(trackingId)
      for (const id of payouts.keys()) this.forgotten.add(derivedEventId(trackingId, `refund ${id}`))
    }
    const isDelivered = new Set(base.log.events.map(({ type, data }) => type === 'CallbackDelivered' && data.webhookId))
    for (const [trackingId, received] of this.endpoints.received)
      this.endpoints.received.set(
        trackingId,
        received.filter(({ webhookId }) => isDelivered.has(webhookId)),
      )
    this.checkpoints.length = 0
    this.erased.clear()
    for (const customer of backup.erased) this.erased.add(customer)
    for (const payment of this.bank) payment.isKnown = true
    this.note('the backup is restored')
  }

  close(): void {
    for (const node of this.nodes) node.crash()
    rmSync(this.directory, { recursive: true, force: true })
  }

  /** Stops a node like a supervisor, which kills it if that takes too long. */
  async stop(node: SimulatedNode): Promise<void> {
    this.note(`${node.name} stops`)
    const stopped = scheduler.call(node.process, 0, () => node.stop())
    await Promise.race([stopped, node.death, scheduler.sleep(stopTimeoutMs)])
    node.crash()
  }

  /** Reads something with the stores of the first node. */
  onNode<Result>(read: (services: HttpServices) => Promise<Result>): Promise<Result> {
    const [node] = this.nodes
    return scheduler.call(node!.process, 0, () => read(node!.service!.http))
  }

  /** Remembers the checkpoint that the tree has now. */
  seeTree(): void {
    const path = join(this.directory, 'tree', 'checkpoint')
    if (!existsSync(path)) return
    const [, size, root] = readFileSync(path, 'utf8').split('\n')
    if (this.checkpoints.at(-1)?.root !== root) this.checkpoints.push({ size: Number(size), root: root! })
  }

  #afterTask(): void {
    const { events } = this.base.log
    while (this.#taken < events.length) {
      const event = events[this.#taken]!
      this.#take(event)
      this.note(`${event.stream}@${event.revision} ${event.type}`)
    }
    if (this.failure) throw this.failure
  }

  #take(event: RecordedEvent): void {
    this.#taken++
    this.model.take(event)
    this.base.secrets.check(JSON.stringify([event.data, event.metadata]), `${event.stream}@${event.revision}`)
  }

  #logged(node: SimulatedNode, line: string): void {
    this.logLines.push(`${node.name} ${line}`)
    if (line.includes('the log is not sealed')) this.sealFailedMs = scheduler.nowMs
    try {
      this.base.secrets.check(line, 'a log line')
    } catch (error) {
      this.failure ??= error
    }
  }
}
