import { setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { checkLogFile } from '@transferd/event-log'
import { DirectoryTiles, parseVerifier } from '@transferd/transparency-log'
import { type KeptCheckpoint, type RecordedTree, verifySealedLog } from '../../audit/integrity/log-verification.js'
import { createSecretBox, type KeyRing } from '../../security/secret-box.js'
import type { Configuration } from '../configuration/configuration.js'
import { markedStore, openEventStore, requireLog } from '../stores/stores.js'

export interface VerifierData {
  readonly eventStore: Configuration['eventStore']
  readonly directory: string
  readonly verifier: string
  readonly keyRing: KeyRing
  readonly kept: readonly KeptCheckpoint[]
  readonly recorded: RecordedTree | undefined
  readonly mayLag: boolean
  readonly from: number
  /** The resting time per working time. */
  readonly restPerWork: number
  readonly stepMs: number
}

/** The thread that verifies the log, at the lowest priority. It posts a step at regular intervals, and then the result. */
const niceness = 19

// On Linux each thread has its own priority. Elsewhere this would slow the whole process.
if (process.platform === 'linux') setPriority(0, niceness)
const {
  eventStore: location,
  directory,
  verifier,
  keyRing,
  kept,
  recorded,
  mayLag,
  from,
  restPerWork,
  stepMs,
} = workerData as VerifierData
requireLog({ eventStore: location })
const { eventStore: rawStore } = await openEventStore(location)
const store = markedStore(rawStore, createSecretBox(keyRing))
const stopping = new AbortController()
const { signal } = stopping
parentPort?.once('message', () => stopping.abort()).unref()
let workedFromMs = performance.now()
let postedAtMs = workedFromMs
const { to, checkpoint, findings, count } = await verifySealedLog({
  store,
  tiles: new DirectoryTiles(directory),
  verifier: parseVerifier(verifier),
  kept,
  recorded,
  mayLag,
  from,
  signal,
  // A verification that continues has already checked the file.
  ...(location.engine === 'embedded' && from === 0 && { checkFile: () => checkLogFile(location.directory, 'quick') }),
  onProgress: (verified, treeSize, found) => {
    if (performance.now() - postedAtMs < stepMs) return
    postedAtMs = performance.now()
    parentPort?.postMessage({ isDone: false, verified, treeSize, findings: found, count: found.length })
  },
  pause: async () => {
    await sleep((performance.now() - workedFromMs) * restPerWork, undefined, { signal }).catch(() => undefined)
    workedFromMs = performance.now()
  },
})
await store.close()
if (!signal.aborted)
  parentPort?.postMessage({ isDone: true, verified: to, treeSize: checkpoint?.size ?? 0, findings, count })
