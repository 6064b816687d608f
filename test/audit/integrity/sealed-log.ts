import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CannotOpenLogError, checkLogFile, logPath, openEventLog } from '@transferd/event-log'
import { Database } from '@transferd/event-log/sqlite'
import {
  DirectoryTiles,
  emptyRoot,
  generateSigner,
  type NoteSigner,
  parseSigner,
  type TileStore,
} from '@transferd/transparency-log'
import { LogSealer } from '../../../src/audit/integrity/log-sealer.js'
import {
  type RunVerification,
  type Verification,
  type VerifyOptions,
  verifySealedLog,
} from '../../../src/audit/integrity/log-verification.js'
import { uuidV5 } from '../../../src/commands/ids.js'
import { AuditTreeCommands } from '../../../src/commands/integrity/audit-tree-commands.js'
import type { EventStore, RecordedEvent } from '../../../src/event-store/event-store.js'

export const signer = parseSigner(generateSigner('transferd/test'))

const namespace = '6f2d9ad8-6d3f-4a51-b0c1-0d5f3a1c9e10'
const metadata = { actor: 'merchant:1', $correlationId: 'c', $causationId: 'c', schemaVersion: 1 }

/** Appends deterministic transfers of one to four events each, whose events alternate. */
export async function appendTransfers(store: EventStore, from: number, to: number): Promise<void> {
  const appends = []
  for (let number = from; number < to + 3; number++) {
    for (let revision = 0; revision < 4; revision++) {
      const transfer = number - revision
      if (transfer < from || transfer >= to || revision > transfer % 4) continue
      const stream = `transfer-${uuidV5(`transfer ${transfer}`, namespace)}`
      const data = { trackingId: stream, amountMinor: String(10_000 + transfer), accountNumber: `TR${transfer}` }
      const event = { id: uuidV5(`${stream}@${revision}`, namespace), type: `Step${revision}`, data, metadata }
      appends.push({
        stream,
        expectedRevision: revision === 0 ? ('no_stream' as const) : revision - 1,
        events: [event],
      })
    }
  }
  for (let at = 0; at < appends.length; at += 1_000) await store.appendInOrder(appends.slice(at, at + 1_000))
}

export async function seal(store: EventStore, directory: string, by: NoteSigner = signer): Promise<string | undefined> {
  const sealer = await LogSealer.open({ store, tiles: tilesOf(directory) }, by)
  await sealer.follow(async () => undefined, new AbortController().signal)
  return sealer.seal()
}

/** Starts the tree of a log with the test's key, and returns what a keeper needs to open it. */
export async function startTestTree(store: EventStore) {
  const clock = () => new Date().toISOString()
  const tree = new AuditTreeCommands(store, clock)
  const head = { size: 0, root: emptyRoot().toString('base64') }
  const start = { treeId: 'tree-1', origin: signer.name, keyId: signer.keyId, ...head, reason: null }
  const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
  await tree.execute({ type: 'StartTree', ...start }, context)
  let kept: NoteSigner | undefined
  return () => ({
    // A restarted service has read nothing.
    tree: new AuditTreeCommands(store, clock),
    isShared: false,
    keyOf: () => signer,
    keptKey: () => kept,
    setAside: async () => undefined,
    keepKey: (key: NoteSigner) => {
      kept = key
    },
  })
}

export function tilesOf(directory: string): DirectoryTiles {
  return new DirectoryTiles(join(directory, 'audit'))
}

/** Creates a data directory with a log of `transfers` transfers and its tree. `writer` decorates the store for the appends. */
export async function createSealedLog(
  transfers: number,
  writer: (store: EventStore) => EventStore = (store) => store,
): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'transferd-sealed-'))
  const store = await openEventLog({ directory, writerThread: false })
  await appendTransfers(writer(store), 0, transfers)
  await seal(store, directory)
  await store.close()
  checkpointWal(directory)
  return directory
}

/** Moves the contents of the write-ahead log into the main file. */
function checkpointWal(directory: string): void {
  const db = new Database(logPath(directory))
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
}

/** Runs `work` on a copy of the directory, and removes the copy. */
export async function onCopy<Result>(directory: string, work: (copy: string) => Promise<Result>): Promise<Result> {
  const copy = mkdtempSync(join(tmpdir(), 'transferd-copy-'))
  try {
    cpSync(directory, copy, { recursive: true })
    return await work(copy)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

/** Verifies in this thread, with a step after each page. */
export function verifyInProcess(store: EventStore, tiles: TileStore): RunVerification {
  return async ({ verifier, kept, from }, onStep, signal) => {
    const { to, checkpoint, findings, count } = await verifySealedLog({
      ...{ store, tiles, verifier, kept, from, signal },
      onProgress: (verified, treeSize, found) =>
        onStep({ verified, treeSize, findings: [...found], count: found.length }),
    })
    return signal.aborted ? undefined : { verified: to, treeSize: checkpoint?.size ?? 0, findings, count }
  }
}

type VerifiedDirectory = Pick<Verification, 'findings' | 'count'> & Partial<Verification>

/** Verifies like `transferd audit verify`: a log that cannot be opened is also a finding. */
export async function verifyDirectory(
  directory: string,
  options: Partial<VerifyOptions> = {},
): Promise<VerifiedDirectory> {
  let store: EventStore | undefined
  try {
    store = await openEventLog({ directory, writerThread: false })
    const checkFile = () => checkLogFile(directory, 'full')
    return await verifySealedLog({ store, tiles: tilesOf(directory), verifier: signer, checkFile, ...options })
  } catch (error) {
    const isDamage = error instanceof CannotOpenLogError || (error as Error).name === 'StoreUnavailableError'
    if (!isDamage) throw error
    return { findings: [], count: 1 }
  } finally {
    await store?.close()
  }
}

/** Returns everything that can be read: the global order, and every stream by its name. */
export async function readEverything(directory: string): Promise<string> {
  const store = await openEventLog({ directory, writerThread: false })
  const read = (events: readonly RecordedEvent[]) =>
    JSON.stringify(events.map((event) => ({ ...event, position: `${event.position.commit}` })))
  try {
    const { events } = await store.readAll({ maxCount: 100_000 })
    const streams = [...new Set(events.map(({ stream }) => stream))]
    const each = await Promise.all(streams.map(async (stream) => read(await store.readStream(stream))))
    return [read(events), ...each].join('\n')
  } finally {
    await store.close()
  }
}
