import { hash } from 'node:crypto'
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { Database } from '@transferd/event-log/sqlite'
import type { SecretBox } from '../../security/secret-box.js'

/** A line of `security.log`, which contains its number and the SHA-256 of the previous line. */
interface Link {
  readonly line: number
  readonly sha256: string
}

export type MacBox = Pick<SecretBox, 'mac'>

const fileName = 'security.log'
/** Stores the last line, and the last one whose digest has a MAC. It also lets concurrent commands append in turn. */
const databaseName = 'security-log.db'
const lockTimeoutMs = 10_000
/** `security.log`, and its rotated files in the same directory. */
const logNames = /^security\.log(?:[.-].+)?$/
const beforeFirst: Link = { line: 0, sha256: '' }

/**
 * Appends a line after the last one, even if that was moved away. With a `box`, its digest gets a MAC, unless the earlier lines have been
 * changed since the last one that has one: a MAC must not confirm such a change. @throws Error if a file cannot be written
 */
export function appendToSecurityLog(directory: string, fields: object, box?: MacBox): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const database = new Database(join(directory, databaseName), { timeout: lockTimeoutMs })
  try {
    database.exec('CREATE TABLE IF NOT EXISTS links(name TEXT PRIMARY KEY, line INTEGER, sha256 TEXT, mac TEXT)')
    database.exec('BEGIN IMMEDIATE')
    const previous = linkIn(database, 'last') ?? beforeFirst
    const isUnchanged = box !== undefined && verifySecurityLog(directory, box).problems.length === 0
    const line = previous.line + 1
    const text = JSON.stringify({ ...fields, line, previous: previous.sha256 })
    appendFileSync(join(directory, fileName), `${text}\n`, { mode: 0o600, flush: true })
    const link = { line, sha256: hash('sha256', text) }
    const put = database.prepare('INSERT OR REPLACE INTO links VALUES (?, ?, ?, ?)')
    put.run('last', line, link.sha256, null)
    if (isUnchanged) put.run('signed', line, link.sha256, macOf(box, link))
    database.exec('COMMIT')
  } finally {
    database.close()
  }
}

/**
 * Verifies the lines in the data directory. Returns the numbers of the first and the last one, 0 without any, and the problems as sentences.
 * @throws Error if a file cannot be read
 */
export function verifySecurityLog(directory: string, box: MacBox) {
  const { last, signed } = linksIn(directory)
  const problems: string[] = []
  const correlationIds = new Set<unknown>()
  let [first, previous]: (Link | undefined)[] = []
  for (const text of linesIn(directory)) {
    const { line, previous: before, correlationId } = parsed(text)
    if (previous && (line !== previous.line + 1 || before !== previous.sha256))
      problems.push(`Line ${line} does not follow line ${previous.line}: a line was edited, removed or inserted.`)
    previous = { line, sha256: hash('sha256', text) }
    first ??= previous
    correlationIds.add(correlationId)
    const stored = [signed, last].filter((link) => link?.line === line)
    if (stored.some((link) => link?.sha256 !== previous?.sha256)) problems.push(`Line ${line} was edited.`)
  }
  const [from, to] = [first?.line ?? 0, previous?.line ?? 0]
  if (to > 0 && !last) problems.push(`${databaseName} is missing, so the end of the lines is unknown.`)
  if (signed && signed.mac !== macOf(box, signed)) problems.push(`${databaseName} was edited.`)
  const end = Math.max(last?.line ?? 0, signed?.line ?? 0)
  if (to < end) problems.push(`Lines ${to + 1} to ${end} are missing.`)
  return { from, to, correlationIds, problems }
}

/** Returns the checkpoint of the log that {@link keepCheckpointInSecurityLog} stored last, or `undefined`. */
export function checkpointInSecurityLog(directory: string): string | undefined {
  const path = join(directory, databaseName)
  if (!existsSync(path)) return undefined
  const database = new Database(path, { readonly: true, timeout: lockTimeoutMs })
  try {
    const hasTable = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'checkpoint'").get()
    return hasTable ? (database.prepare('SELECT text FROM checkpoint').pluck().get() as string | undefined) : undefined
  } finally {
    database.close()
  }
}

/** Stores a checkpoint of the log next to the last line, if there is one. */
export function keepCheckpointInSecurityLog(directory: string, text: string): void {
  const path = join(directory, databaseName)
  if (!existsSync(path)) return
  const database = new Database(path, { timeout: lockTimeoutMs })
  try {
    database.exec('CREATE TABLE IF NOT EXISTS checkpoint(one INTEGER PRIMARY KEY CHECK (one = 1), text TEXT)')
    database.prepare('INSERT OR REPLACE INTO checkpoint VALUES (1, ?)').run(text)
  } finally {
    database.close()
  }
}

function linksIn(directory: string) {
  const path = join(directory, databaseName)
  if (!existsSync(path)) return {}
  const database = new Database(path, { readonly: true, timeout: lockTimeoutMs })
  try {
    return { last: linkIn(database, 'last'), signed: linkIn(database, 'signed') }
  } finally {
    database.close()
  }
}

function linkIn(database: Database, name: 'last' | 'signed') {
  return database.prepare('SELECT line, sha256, mac FROM links WHERE name = ?').get(name) as
    | (Link & { readonly mac: string | null })
    | undefined
}

function macOf(box: MacBox, { line, sha256 }: Link): string {
  return box.mac('security log', `${line} ${sha256}`)
}

/** Returns the lines of all files, the oldest file first. */
function linesIn(directory: string): readonly string[] {
  const files = existsSync(directory) ? readdirSync(directory).filter((name) => logNames.test(name)) : []
  const contents = files.map((name) => {
    const bytes = readFileSync(join(directory, name))
    const text = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8')
    return text.split('\n').filter((line) => line !== '')
  })
  return contents.sort((a, b) => parsed(a[0]).line - parsed(b[0]).line).flat()
}

/** An unreadable line gets the number 0, so that it follows no other. */
function parsed(text = ''): { readonly line: number; readonly previous?: unknown; readonly correlationId?: unknown } {
  try {
    const { line, previous, correlationId } = JSON.parse(text)
    return { line: Number.isSafeInteger(line) ? line : 0, previous, correlationId }
  } catch {
    return { line: 0 }
  }
}
