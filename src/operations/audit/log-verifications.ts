import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { checkLogFile } from '@transferd/event-log'
import { DirectoryTiles, formatVerifier } from '@transferd/transparency-log'
import { type RunVerification, type VerificationStep, verifySealedLog } from '../../audit/integrity/log-verification.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { KeyRing } from '../../security/secret-box.js'
import type { Configuration } from '../configuration/configuration.js'
import type { VerifierData } from './log-verifier.js'

/**
 * The resting time per working time. At rest, a verification uses half a core. On request it uses what the other threads leave, because
 * its thread has the lowest priority.
 */
const restPerWork = { rest: 1, requested: 0 } as const
/** The heap that a verification needs is far smaller. Without a limit, V8 collects garbage later. */
const maxHeapMiB = 256

/** Returns a function that verifies the newest part in this thread and the whole log in a separate one. */
export function verificationsOf(
  { audit: { directory }, eventStore }: Pick<Configuration, 'audit' | 'eventStore'>,
  keyRing: KeyRing,
  store: EventStore,
): RunVerification {
  return async ({ occasion, verifier, kept, recorded, mayLag, from, stepMs }, onStep, signal) => {
    if (occasion !== 'start') {
      const given = { eventStore, directory, verifier: formatVerifier(verifier), keyRing, kept, recorded, from, stepMs }
      return runThread({ ...given, mayLag, restPerWork: restPerWork[occasion] }, onStep, signal)
    }
    const {
      from: first,
      to,
      checkpoint,
      findings,
      count,
    } = await verifySealedLog({
      store,
      tiles: new DirectoryTiles(directory),
      verifier,
      kept,
      recorded,
      mayLag,
      from,
      signal,
      ...(eventStore.engine === 'embedded' && { checkFile: () => checkLogFile(eventStore.directory, 'positions') }),
    })
    if (signal.aborted) return undefined
    return { verified: to - first, treeSize: checkpoint?.size ?? 0, findings, count }
  }
}

async function runThread(
  workerData: VerifierData,
  onStep: (step: VerificationStep) => void,
  signal: AbortSignal,
): Promise<VerificationStep | undefined> {
  if (signal.aborted) return undefined
  const resourceLimits = { maxOldGenerationSizeMb: maxHeapMiB }
  const worker = new Worker(new URL('./log-verifier.js', import.meta.url), {
    workerData,
    resourceLimits,
    name: 'log verifier',
  })
  let result: VerificationStep | undefined
  worker.on('message', ({ isDone, ...step }: VerificationStep & { readonly isDone: boolean }) => {
    if (isDone) result = step
    else onStep(step)
  })
  // The thread ends after its page: to terminate it while SQLite works in it can abort the process.
  const stop = () => worker.postMessage('stop')
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    const [code] = await once(worker, 'exit')
    if (result === undefined && !signal.aborted) throw new Error(`the verification ended with code ${code}`)
    return result
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
