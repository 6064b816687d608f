import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Static } from '@sinclair/typebox'
import { uuidV5 } from '../../commands/ids.js'
import { Type, Value } from '../../kernel/typebox.js'
import { writeFileDurably } from './durable-file.js'

const name = 'restored'

const Nullable = <T extends ReturnType<typeof Type.String> | ReturnType<typeof Type.Integer>>(schema: T) =>
  Type.Union([schema, Type.Null()])

const RestoredMark = Type.Object(
  {
    /** Identifies this restore, so that it is recorded once. */
    id: Type.String({ pattern: '^[0-9a-f-]{36}$' }),
    backupCreatedAt: Nullable(Type.String()),
    restoredAt: Nullable(Type.String()),
    events: Nullable(Type.Integer({ minimum: 0 })),
    lastEventAt: Nullable(Type.String()),
    lostEvents: Nullable(Type.Integer({ minimum: 0 })),
  },
  { additionalProperties: false },
)

export type RestoredMark = Static<typeof RestoredMark>

/** Marks a data directory that a restore has just created. */
export function markRestored(dataDirectory: string, mark: RestoredMark): void {
  writeFileDurably(join(dataDirectory, name), `${JSON.stringify(mark)}\n`)
}

const unknown = { backupCreatedAt: null, restoredAt: null, events: null, lastEventAt: null, lostEvents: null }
/** The namespace of the ids of marks that operators create as empty files. */
const namespace = '3a1c6b52-8f0d-4c7e-9b1a-5d2e7f604c19'

/** Returns the mark of a restored data directory, or `undefined` without one. A file without the details of a restore is a mark too. */
export function restoredMark(dataDirectory: string): RestoredMark | undefined {
  const path = join(dataDirectory, name)
  try {
    const mark = parsed(readFileSync(path, 'utf8'))
    if (Value.Check(RestoredMark, mark)) return mark
    const { ino, mtimeNs } = statSync(path, { bigint: true })
    return { ...unknown, id: uuidV5(`${ino} ${mtimeNs}`, namespace) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** No service has started on a restored directory yet, so the log does not record the restore. */
class RestoreNotRecordedError extends Error {
  override readonly name = 'RestoreNotRecordedError'
}

/** Rejects programs without the master key, which cannot record the restore. @throws RestoreNotRecordedError */
export function requireNoMark(dataDirectory: string): void {
  if (!existsSync(join(dataDirectory, name))) return
  throw new RestoreNotRecordedError(
    `${dataDirectory} was restored from a backup: start the service on it once, which stops payouts and ends all sessions`,
  )
}

/** Runs `work` if the directory is marked, and then removes the mark. A start that is killed in between repeats the work. */
export async function onceRestored(dataDirectory: string, work: () => Promise<void>): Promise<void> {
  if (!existsSync(join(dataDirectory, name))) return
  await work()
  rmSync(join(dataDirectory, name), { force: true })
}
