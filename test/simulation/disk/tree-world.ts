import {
  DirectoryTiles,
  emptyRoot,
  formatCheckpoint,
  leafHash,
  parseCheckpoint,
  TreeAppender,
  type TreeHead,
  TreeReader,
  tileWidth,
  VerificationError,
} from '@transferd/transparency-log'
import { scheduler } from '../environment.js'
import type { Random } from '../random.js'
import type { Owner } from '../scheduler.js'
import { must } from '../violation.js'
import { TreeFiles, treeRoot } from './tree-files.js'

const checkpointPath = 'checkpoint'
const origin = 'example.com/simulation'
/** The leaves of every tree. */
const leaves: { readonly entry: Buffer; readonly hash: Buffer }[] = []
const maxHealingMs = 60_000

/** A crash before one of the next operations. */
interface PlannedCrash {
  skip: number
  readonly isPowerCut: boolean
}

/** A tree in a directory that a disk loses in part, its writer, and its readers. */
export class TreeWorld {
  readonly #files: TreeFiles
  readonly #random: Random
  #writer: Owner | undefined
  #crash: PlannedCrash | undefined
  /** The numbers of entries that the next checkpoints add. */
  #waiting: number[] = []
  /** The size of the last checkpoint whose write was acknowledged. */
  #acknowledged = 0
  #started = 0
  #failure: unknown

  constructor(
    random: Random,
    readonly note: (text: string) => void,
  ) {
    this.#random = random
    this.#files = new TreeFiles(random)
    this.#files.beforeOperation = () => {
      if (!this.#crash || scheduler.current !== this.#writer || this.#crash.skip-- > 0) return
      this.crash(this.#crash.isPowerCut)
    }
    scheduler.afterTask = () => {
      if (this.#failure) throw this.#failure
    }
  }

  get events(): number {
    return this.#acknowledged
  }

  close(): void {
    this.#files.unmount()
  }

  async open(): Promise<void> {
    await this.check()
    const writer: Owner = { name: `writer ${this.#started++}`, isDead: false, skewMs: 0, pausedUntilMs: 0 }
    this.#writer = writer
    this.#run(writer, () => this.#write())
  }

  append(random: Random): void {
    this.#waiting.push(random.pick([1, 3, 40, tileWidth - 1, tileWidth, tileWidth + 44]))
  }

  /** Checks the tree of the last checkpoint, as a reader that starts. */
  async check(): Promise<void> {
    const tiles = new DirectoryTiles(treeRoot)
    const least = this.#acknowledged
    try {
      const head = await headOf(tiles)
      must('checkpoints', head.size >= least, () => `the tree has ${head.size} leaves, and had ${least}`)
      const reader = new TreeReader(tiles, head.size)
      const root = await reader.root()
      must('audit-tree', root.equals(head.root), () => `the root of ${head.size} leaves is not that of the checkpoint`)
      for await (const { index, entry } of reader.entries())
        must('audit-tree', entry.equals(leaf(index).entry), () => `entry ${index} has a different content`)
      for (let first = 0; first < head.size; first += tileWidth)
        for (const [place, hash] of (await reader.leafHashes(first / tileWidth)).entries())
          must('audit-tree', hash.equals(leaf(first + place).hash), () => `leaf ${first + place} has a different hash`)
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error
      must('audit-tree', false, () => error.message)
    }
  }

  crash(isPowerCut: boolean): void {
    if (!this.#writer || this.#writer.isDead) return
    this.note(`${this.#writer.name} crashes${isPowerCut ? ' with the machine' : ''}`)
    this.#writer.isDead = true
    this.#crash = undefined
    if (isPowerCut) this.#files.cutPower()
    const restart = () => this.#run(scheduler.world, () => this.open())
    scheduler.add(this.#random.below(50), restart, scheduler.world)
  }

  planCrash(random: Random): void {
    this.#crash = { skip: random.below(40), isPowerCut: random.chance(0.6) }
  }

  failSyncs(count: number): void {
    this.#files.failingSyncs = count
  }

  fill(forMs: number): void {
    this.#files.isFull = true
    scheduler.add(forMs, () => {
      this.#files.isFull = false
    })
  }

  async heal(): Promise<void> {
    this.#crash = undefined
    Object.assign(this.#files, { isFull: false, failingSyncs: 0 })
    const untilMs = scheduler.nowMs + maxHealingMs
    while (this.#waiting.length > 0 || this.#writer?.isDead) {
      must('settles', scheduler.nowMs < untilMs, () => 'the tree does not grow')
      await scheduler.sleep(20)
    }
  }

  /** Extends the tree until it is killed. After a failed write it continues from the last checkpoint. */
  async #write(): Promise<never> {
    const tiles = new DirectoryTiles(treeRoot)
    for (;;) {
      try {
        await this.#extend(tiles)
      } catch (error) {
        if (!['ENOSPC', 'EIO'].includes((error as { code?: string }).code ?? '')) throw error
        this.note((error as Error).message)
        await scheduler.sleep(20)
      }
    }
  }

  async #extend(tiles: DirectoryTiles): Promise<never> {
    const head = await headOf(tiles)
    const appender = await TreeAppender.open(tiles, head.size)
    must(
      'audit-tree',
      appender.root().equals(head.root),
      () => `the tree of ${head.size} leaves opens with another root`,
    )
    for (;;) {
      const [count] = this.#waiting
      if (count !== undefined) {
        await appender.append(Array.from({ length: count }, (_, place) => leaf(appender.size + place).entry))
        await appender.flush()
        const { size } = appender
        const text = formatCheckpoint({ origin, size, root: appender.root() })
        await tiles.write(checkpointPath, Buffer.from(text))
        this.#acknowledged = size
        this.#waiting.shift()
      }
      await scheduler.sleep(10)
    }
  }

  #run(owner: Owner, run: () => Promise<unknown>): void {
    scheduler.add(
      0,
      () =>
        void run().catch((error: unknown) => {
          this.#failure ??= error
        }),
      owner,
    )
  }
}

async function headOf(tiles: DirectoryTiles): Promise<TreeHead> {
  const bytes = await tiles.read(checkpointPath)
  return bytes ? parseCheckpoint(Buffer.from(bytes).toString()) : { size: 0, root: emptyRoot() }
}

function leaf(index: number): { readonly entry: Buffer; readonly hash: Buffer } {
  const known = leaves[index]
  if (known) return known
  const entry = Buffer.from(`entry ${index} ${'x'.repeat(index % 50)}`)
  const made = { entry, hash: leafHash(entry) }
  leaves[index] = made
  return made
}
