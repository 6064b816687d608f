import { createHash, type Hash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { type FileHandle, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type EventStore, formatPosition, type Position, parsePosition } from '../../event-store/event-store.js'
import {
  type Exported,
  type ExportedFile,
  type ExportQuery,
  exportName,
  exportPages,
  headOf,
  type Manifest,
  manifestOf,
} from './export.js'

type Store = Pick<EventStore, 'readAll' | 'readStream'>

/** The files cannot be written there, or differ from those of an interrupted export. */
export class ExportError extends Error {
  override readonly name = 'ExportError'
}

export interface ExportTarget {
  /** A file, or a directory of files with {@link ExportLimits.eventsPerFile} events each. */
  readonly path: string
  readonly isDirectory: boolean
}

interface ExportLimits {
  readonly eventsPerFile: number
  /** The pages of the log between two saves of the progress. */
  readonly pagesPerSave: number
}

const defaultLimits: ExportLimits = { eventsPerFile: 100_000, pagesPerSave: 20 }

export interface ExportOptions {
  readonly signal: AbortSignal
  readonly onProgress: (progress: { readonly events: number; readonly at: Position; readonly until: Position }) => void
  /** Returns the position at which the export ends. */
  readonly end: () => Promise<Position | undefined>
  readonly sign: (manifest: Manifest) => Promise<Manifest>
  readonly limits?: ExportLimits
}

type ExportedPage = Omit<Exported, 'files'> & { readonly lines: readonly string[]; readonly at: Position | undefined }

/** The state from which a killed export resumes, stored next to its files until the manifest is written. */
interface Progress {
  readonly query: Omit<ExportQuery, 'until'>
  readonly until: string | null
  readonly at: string | null
  readonly first: string | null
  readonly last: string | null
  readonly done: readonly ExportedFile[]
  readonly writing: Omit<ExportedFile, 'sha256'>
}

/**
 * Writes an export and then its manifest. After a kill, the same call resumes the export up to the same end of the log and results in the
 * same files. Returns `undefined` if it is interrupted.
 * @throws ExportError, StoreUnavailableError
 */
export async function exportToFiles(
  store: Store,
  request: Omit<ExportQuery, 'until'>,
  target: ExportTarget,
  options: ExportOptions,
): Promise<Manifest | undefined> {
  const { limits = defaultLimits } = options
  const places = placesOf(target, request, limits)
  const found = await readProgress(places.progress, request)
  if (existsSync(places.manifest)) {
    if (!found) throw new ExportError(`${places.manifest} already exists: choose another path`)
    // The export was killed after its end.
    await rm(places.progress)
    return JSON.parse(await readFile(places.manifest, 'utf8')) as Manifest
  }
  const progress = found ?? (await begin(request, places, options))
  const query = { ...request, until: positionIn(progress.until) ?? null }
  const files = await ExportFiles.open(places, progress)
  try {
    if (!(await writeAll(store, query, files, options))) return undefined
    const manifest = await options.sign(manifestOf(query, await files.finish()))
    await writeDurably(places.manifest, `${JSON.stringify(manifest, null, 2)}\n`)
    await rm(places.progress)
    return manifest
  } finally {
    await files.close()
  }
}

async function begin(
  request: Omit<ExportQuery, 'until'>,
  places: Places,
  { end: endOf }: ExportOptions,
): Promise<Progress> {
  const name = places.nameOf(1)
  if (existsSync(join(places.directory, name))) {
    throw new ExportError(`${join(places.directory, name)} already exists: choose another path`)
  }
  const end = await endOf()
  const nothing = { at: null, first: null, last: null, done: [], writing: { name, events: 0, bytes: 0 } }
  const progress: Progress = { query: request, until: end ? formatPosition(end) : null, ...nothing }
  await mkdir(places.directory, { recursive: true })
  // Before any file, because it distinguishes the files of a killed export from other files.
  await writeDurably(places.progress, JSON.stringify(progress))
  return progress
}

/** Returns false if it is interrupted. */
async function writeAll(store: Store, query: ExportQuery, files: ExportFiles, options: ExportOptions) {
  const { signal, onProgress, limits = defaultLimits } = options
  let pages = 0
  for await (const page of exportPages(store, query, files.at)) {
    await files.add(page)
    if (++pages % limits.pagesPerSave === 0) await files.save()
    if (page.at && query.until) onProgress({ events: files.events, at: page.at, until: query.until })
    if (!signal.aborted) continue
    await files.save()
    return false
  }
  return true
}

type Places = ReturnType<typeof placesOf>

function placesOf({ path, isDirectory }: ExportTarget, { format }: Pick<ExportQuery, 'format'>, limits: ExportLimits) {
  const directory = isDirectory ? path : dirname(path)
  const fileOf = (name: string) => (isDirectory ? join(path, name) : `${path}.${name}`)
  const metadata = { directory, manifest: fileOf('manifest.json'), progress: fileOf('progress.json') }
  if (!isDirectory) return { ...metadata, nameOf: () => basename(path), eventsPerFile: Number.POSITIVE_INFINITY }
  // From 1.
  const nameOf = (number: number) => `${exportName(format)}-${String(number).padStart(6, '0')}.${format}`
  return { ...metadata, nameOf, eventsPerFile: limits.eventsPerFile }
}

class ExportFiles {
  #file: FileHandle
  #hash: Hash

  private constructor(
    private readonly places: Places,
    private progress: Progress,
    { file, hash }: { readonly file: FileHandle; readonly hash: Hash },
  ) {
    this.#file = file
    this.#hash = hash
  }

  static async open(places: Places, progress: Progress): Promise<ExportFiles> {
    const { name, bytes } = progress.writing
    const files = new ExportFiles(places, progress, await reopened(join(places.directory, name), bytes))
    if (bytes === 0) await files.#write(headOf(progress.query.format), 0)
    return files
  }

  get at(): Position | undefined {
    return positionIn(this.progress.at)
  }

  get events(): number {
    return this.progress.done.reduce((sum, { events }) => sum + events, this.progress.writing.events)
  }

  async add({ lines, first, last, at }: ExportedPage): Promise<void> {
    const { eventsPerFile } = this.places
    let rest = lines
    while (rest.length > 0) {
      if (this.progress.writing.events >= eventsPerFile) await this.#next()
      const fitting = rest.slice(0, eventsPerFile - this.progress.writing.events)
      await this.#write(fitting.join(''), fitting.length)
      rest = rest.slice(fitting.length)
    }
    this.#update({
      first: this.progress.first ?? (first ? formatPosition(first) : null),
      last: last ? formatPosition(last) : this.progress.last,
      at: at ? formatPosition(at) : this.progress.at,
    })
  }

  /** Saves the progress after the written data is on disk. */
  async save(): Promise<void> {
    await this.#file.sync()
    await writeDurably(this.places.progress, JSON.stringify(this.progress))
  }

  async finish(): Promise<Exported> {
    await this.#end()
    const { first, last, done } = this.progress
    return { first: positionIn(first), last: positionIn(last), files: done }
  }

  close(): Promise<void> {
    return this.#file.close()
  }

  #update(changes: Partial<Progress>): void {
    this.progress = { ...this.progress, ...changes }
  }

  async #write(text: string, events: number): Promise<void> {
    await this.#file.appendFile(text)
    this.#hash.update(text)
    const { name, events: before, bytes } = this.progress.writing
    this.#update({ writing: { name, events: before + events, bytes: bytes + Buffer.byteLength(text) } })
  }

  async #end(): Promise<void> {
    await this.#file.sync()
    const ended = { ...this.progress.writing, sha256: this.#hash.digest('hex') }
    this.#update({ done: [...this.progress.done, ended] })
  }

  async #next(): Promise<void> {
    await this.#end()
    await this.#file.close()
    const name = this.places.nameOf(this.progress.done.length + 1)
    const { file, hash } = await reopened(join(this.places.directory, name), 0)
    this.#file = file
    this.#hash = hash
    this.#update({ writing: { name, events: 0, bytes: 0 } })
    await this.#write(headOf(this.progress.query.format), 0)
  }
}

/** Opens a file and removes what a killed export has written after this many bytes. @throws ExportError */
async function reopened(path: string, bytes: number): Promise<{ readonly file: FileHandle; readonly hash: Hash }> {
  const file = await open(path, 'a')
  const { size } = await file.stat()
  if (size < bytes) {
    await file.close()
    throw new ExportError(`${path} was changed since the export was interrupted: choose another path`)
  }
  await file.truncate(bytes)
  const hash = createHash('sha256')
  if (bytes > 0) for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return { file, hash }
}

/** Returns `undefined` if no export was interrupted there. @throws ExportError if it was an export of another query */
async function readProgress(path: string, query: Progress['query']): Promise<Progress | undefined> {
  if (!existsSync(path)) return undefined
  const found = JSON.parse(await readFile(path, 'utf8')) as Progress
  const same = (['format', 'merchantId', 'from', 'to'] as const).every((name) => found.query[name] === query[name])
  if (!same) throw new ExportError(`${path} belongs to a different export: finish that one, or choose another path`)
  return found
}

function positionIn(text: string | null): Position | undefined {
  return text === null ? undefined : parsePosition(text)
}

/** Writes a file atomically: a reader finds either the earlier contents or all of the new. */
async function writeDurably(path: string, text: string): Promise<void> {
  const draft = `${path}.draft`
  const file = await open(draft, 'w')
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, path)
}
