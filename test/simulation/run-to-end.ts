import { scheduler } from './environment.js'
import { type Invariant, must, Violation } from './violation.js'

/** Most worlds need a thousand. */
const maxTasks = 200_000

export interface Failure {
  readonly invariant: Invariant | 'error'
  readonly text: string
}

/** Runs a world until it has ended. Returns its failure; `undefined` for none. */
export async function runToEnd(run: () => Promise<void>): Promise<Failure | undefined> {
  try {
    const isDone = await scheduler.runUntil(run(), maxTasks)
    must('settles', isDone, () => `the world has stopped, or ${maxTasks} tasks were not enough`)
    return undefined
  } catch (error) {
    if (error instanceof Violation) return { invariant: error.invariant, text: error.message }
    return { invariant: 'error', text: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}
