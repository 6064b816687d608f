import './message-ports.js'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { DirectoryTiles } from '@transferd/transparency-log'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { type RunVerification, verifySealedLog } from '../../src/audit/integrity/log-verification.js'
import type { EventStore } from '../../src/event-store/event-store.js'
import { buildApp } from '../../src/http/app.js'
import { systemClock } from '../../src/kernel/time.js'
import { startRole } from '../../src/main/background.js'
import { startCallbackWork } from '../../src/main/callback-work.js'
import { type ComposedService, composeService } from '../../src/main/compose-service.js'
import { startProjectionWork } from '../../src/main/projection-work.js'
import { composeThread } from '../../src/main/thread.js'
import { type Configuration, readConfiguration } from '../../src/operations/configuration/configuration.js'
import { markedStore, openLogOver } from '../../src/operations/stores/stores.js'
import { openCollectionKeyStore } from '../../src/privacy/collection-key-store.js'
import type { ReadModels } from '../../src/read-models/read-models.js'
import { serveReads } from '../../src/readers/reader-server.js'
import type { Wallet } from '../../src/wallet/wallet.js'
import { manualDeposits, paymentMethods } from '../support/merchant-requests.js'
import { scheduler } from './environment.js'
import { passwords } from './passwords.js'
import type { Owner } from './scheduler.js'

export const publicUrl = 'https://pay.example'

/** The servers that a node reaches over the network. Each call opens a connection of this node. */
interface Servers {
  openLog(): EventStore
  openReadModels(): ReadModels
  readonly wallet: Wallet
  /** Ends all connections like the death of the process does. */
  drop(): void
}

/** A node of the service: its composition root on simulated stores, without threads and sockets. */
export class SimulatedNode {
  /** The running process, which differs after every start. */
  process: Owner
  /** Resolves when the process is killed. */
  death: Promise<void> = Promise.resolve()
  #onDeath: () => void = () => undefined
  service: ComposedService | undefined
  #app: Promise<FastifyInstance> | undefined
  #closing: (() => Promise<unknown>)[] = []
  readonly configuration: Configuration

  constructor(
    readonly name: string,
    directory: string,
    private readonly masterKey: Buffer,
    private readonly servers: Servers,
    private readonly log: (node: string, line: string) => void,
  ) {
    this.process = { name, isDead: true, skewMs: 0, pausedUntilMs: 0 }
    const dataDirectory = join(directory, name)
    mkdirSync(dataDirectory, { recursive: true })
    this.configuration = {
      ...readConfiguration({
        EVENT_STORE_URL: 'esdb://log.example:2113',
        READ_MODEL_URL: 'mongodb://lists.example/transferd',
        DATA_DIRECTORY: dataDirectory,
        AUDIT_DIRECTORY: join(directory, 'tree'),
        PUBLIC_URL: publicUrl,
        CALLBACK_TIMEOUT_MS: '2000',
      }),
      paymentMethods: [...paymentMethods, manualDeposits],
    }
  }

  /** Starts like the service, as a task of this node. */
  async start(): Promise<void> {
    const { configuration, servers } = this
    const [clock, logger] = [
      systemClock(),
      pino({ level: 'info', base: null }, { write: (line) => this.log(this.name, line) }),
    ]
    const openKeys = () => openCollectionKeyStore(async () => servers.openReadModels())
    const key = { key: this.masterKey, from: 'the simulation' }
    const stores = await openLogOver(servers.openLog(), configuration, [key], openKeys())
    const readModels = servers.openReadModels()
    const closing: (() => Promise<unknown>)[] = [() => stores.close()]
    const { box, keyRing } = stores
    const shared = { wallet: servers.wallet, keyRing, configuration, installationName: publicUrl }
    const thread = () =>
      composeThread(configuration, {
        rawStore: servers.openLog(),
        readModels: servers.openReadModels(),
        keyStore: openKeys(),
        ...{ box, logger, clock },
      })
    const startReader = () => {
      const { port1, port2 } = new MessageChannel()
      const { store, merchants } = thread()
      merchants.start().then(
        () => serveReads(port2, { store, readModels, merchants }),
        () => port2.close(),
      )
      return port1
    }
    const service = await composeService(
      configuration,
      {
        stores: { ...stores, readModels },
        ...{ clock, logger, publicUrl, startReader, passwords, wallet: servers.wallet },
        installationName: publicUrl,
        monotonicMs: () => performance.now(),
        metrics: new Registry(),
        backgroundProblems: () => [],
        outboxToken: () => undefined,
        takeCode: () => 0,
      },
      (close) => closing.push(close),
    )
    const stopping = new AbortController()
    for (const [role, work] of [
      ['projections', startProjectionWork],
      ['callbacks', startCallbackWork],
    ] as const) {
      const opened = thread()
      const verify = verifyHere(markedStore(opened.rawStore, box), configuration)
      const running = startRole(role, work, { ...shared, ...opened, verify }, stopping.signal)
      closing.push(async () => (await running).stop())
    }
    this.#closing = [...closing, async () => stopping.abort()]
    this.service = service
  }

  /** Creates a process, in which {@link start} runs. */
  boot(): Owner {
    this.process = { ...this.process, isDead: false, pausedUntilMs: 0 }
    this.death = new Promise((resolve) => {
      this.#onDeath = resolve
    })
    return this.process
  }

  /** Kills the process: its tasks no longer run. */
  crash(): void {
    this.process.isDead = true
    // A task of the world, because tasks of this process no longer run.
    scheduler.add(0, this.#onDeath, scheduler.world)
    this.service = undefined
    this.#app = undefined
    this.servers.drop()
  }

  /** Stops like the service on SIGTERM, as a task of this node. */
  async stop(): Promise<void> {
    const app = await this.#app
    this.service = undefined
    await app?.close()
    for (const close of this.#closing.reverse()) await close()
    this.crash()
  }

  /** Handles a request, as a task of this node. The routes are built with the first one, as few restarts of a world need them. */
  async request(options: InjectOptions): Promise<LightMyRequestResponse | undefined> {
    if (!this.service) return undefined
    return (await this.app()).inject(options)
  }

  app(): Promise<FastifyInstance> {
    this.#app ??= buildApp(this.service!.http)
    return this.#app
  }
}

/** Verifies the log in the node's only thread. */
function verifyHere(store: EventStore, { audit }: Configuration): RunVerification {
  return async ({ verifier, kept, recorded, mayLag, from }, _onStep, signal) => {
    const tiles = new DirectoryTiles(audit.directory)
    const sealed = { store, tiles, verifier, kept, recorded, mayLag, from, signal }
    const { to, checkpoint, findings, count } = await verifySealedLog(sealed)
    return signal.aborted ? undefined : { verified: to, treeSize: checkpoint?.size ?? 0, findings, count }
  }
}
