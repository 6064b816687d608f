import { Random } from './random.js'

/** The owner of tasks: a node of the service, or the world around it. The tasks of a crashed owner never run. */
export interface Owner {
  readonly name: string
  isDead: boolean
  /** The difference of the owner's wall clock to the time of the world. */
  skewMs: number
  /** Its tasks wait until then, like those of a process that gets no processor time. */
  pausedUntilMs: number
}

export interface Task {
  readonly owner: Owner
  dueMs: number
  order: number
  run: (() => void) | undefined
}

/** Kept before the environment replaces it. The microtasks of a task have ended when it fires. */
const nextTurn = setImmediate
const startMs = Date.parse('2026-03-02T09:00:00.000Z')

/**
 * A virtual time that advances from task to task, and one task at a time. A task is a timer, an immediate, or the response of a port.
 * Everything that a task causes belongs to its owner, because its microtasks end before the next task starts.
 */
export class Scheduler {
  readonly world: Owner = { name: 'world', isDead: false, skewMs: 0, pausedUntilMs: 0 }
  /** By the time of the world, from 0. */
  nowMs = 0
  /** The number of tasks that ran. */
  ran = 0
  random = new Random(0)
  current: Owner = this.world
  /** Called after every task. */
  afterTask: () => void = () => undefined
  #order = 0
  /** A binary heap, ordered by due time and then by order. */
  #heap: Task[] = []

  reset(seed: number, nowMs = 0): void {
    this.nowMs = nowMs
    this.ran = 0
    this.random = new Random(seed, 1)
    this.current = this.world
    this.world.skewMs = 0
    this.afterTask = () => undefined
    this.#order = 0
    this.#heap = []
  }

  wallMs(): number {
    return startMs + Math.floor(this.nowMs + this.current.skewMs)
  }

  add(delayMs: number, run: () => void, owner = this.current): Task {
    const task: Task = { owner, dueMs: this.nowMs + Math.max(0, delayMs), order: this.#order++, run }
    this.#push(task)
    return task
  }

  /** Runs the function as a task of the owner after the delay, and resolves with its result as a task of the caller. */
  call<Result>(owner: Owner, delayMs: number, run: () => Promise<Result>, backMs = 0): Promise<Result> {
    const caller = this.current
    return new Promise((resolve, reject) => {
      const back = (settle: () => void) => void this.add(backMs, settle, caller)
      this.add(
        delayMs,
        () =>
          void run().then(
            (result) => back(() => resolve(result)),
            (error: unknown) => back(() => reject(error)),
          ),
        owner,
      )
    })
  }

  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.add(delayMs, resolve))
  }

  /** Runs tasks until the promise settles. Returns false if no task is left, or after this many tasks. @throws what the promise or a check throws */
  async runUntil(promise: Promise<unknown>, maxTasks: number): Promise<boolean> {
    let settled = false
    let failure: { readonly error: unknown } | undefined
    promise.then(
      () => (settled = true),
      (error: unknown) => (failure = { error }),
    )
    for (;;) {
      await new Promise((resolve) => nextTurn(resolve))
      this.afterTask()
      if (failure) throw failure.error
      if (settled) return true
      const task = this.#heap[0]
      if (!task || this.ran >= maxTasks) return false
      this.#pop()
      const { run, owner } = task
      if (run === undefined || owner.isDead) continue
      if (owner.pausedUntilMs > this.nowMs && owner.pausedUntilMs > task.dueMs) {
        task.dueMs = owner.pausedUntilMs
        this.#push(task)
        continue
      }
      this.nowMs = Math.max(this.nowMs, task.dueMs)
      this.current = owner
      this.ran++
      task.run = undefined
      run()
    }
  }

  #push(task: Task): void {
    const heap = this.#heap
    let at = heap.length
    heap.push(task)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(task, heap[parent]!)) break
      heap[at] = heap[parent]!
      at = parent
    }
    heap[at] = task
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()!
    if (heap.length === 0) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, last)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = last
  }
}

const isBefore = (a: Task, b: Task): boolean => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order)
