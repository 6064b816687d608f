import { parseCheckpoint, parseNote } from '@transferd/transparency-log'
import type { AuditTree } from '../../domain/audit-tree.js'
import type { Finding } from '../../domain/integrity.js'
import type { KeptCheckpoint } from './log-verification.js'

/**
 * A store other than the log that keeps the newest checkpoint. A person who cuts the log back, or restores an earlier one, would have to
 * change all of them, and cannot sign a smaller checkpoint.
 */
export interface CheckpointStore {
  /** With its article, for sentences. */
  readonly name: string
  /** Set if each node has its own, whose age is unrelated to the other stores. */
  readonly isLocal?: true
  read(): Promise<string | undefined>
  /** Does nothing if someone else writes the checkpoint, as for a backup. */
  write(text: string): Promise<void>
}

/** The content of a store, stored as JSON. */
interface Kept {
  readonly note: string
  /** The sizes of the checkpoints that the other stores of all nodes had kept before this one was written, by their names. */
  readonly others: { readonly [name: string]: number }
  /** Authenticates the sizes. The note has its own signature. */
  readonly mac: string
}

type MacOf = (text: string) => string

function keptText(note: string, others: Kept['others'], macOf: MacOf): string {
  const mac = macOf(JSON.stringify([note, others]))
  return JSON.stringify({ note, others, mac } satisfies Kept)
}

export interface RememberedCheckpoints {
  /** The checkpoints of the log's present tree, and those of unknown trees. */
  readonly kept: readonly KeptCheckpoint[]
  /** The stores that another one has seen newer: they were restored, or replaced by a copy. */
  readonly findings: readonly Finding[]
  /** The stores that cannot be read, as sentences. */
  readonly problems: readonly string[]
}

/** The newest checkpoint in all stores. */
export class KeptCheckpoints {
  readonly #sizes = new Map<string, number>()

  constructor(
    private readonly stores: readonly CheckpointStore[],
    private readonly macOf: MacOf,
  ) {}

  /** Reads what the stores keep, except for checkpoints of earlier trees of this log, which a person replaced. */
  async read(tree: Pick<AuditTree, 'earlierKeyIds'>): Promise<RememberedCheckpoints> {
    const found: (Kept & { readonly name: string })[] = []
    const problems: string[] = []
    for (const store of this.stores) {
      try {
        const text = await store.read()
        if (text !== undefined) found.push({ name: store.name, ...parsed(text) })
      } catch (error) {
        problems.push(`The checkpoint in ${store.name} cannot be read: ${(error as Error).message}.`)
      }
    }
    const kept = found.filter(({ note }) => !isOfEarlierTree(note, tree))
    for (const { name, note } of kept) this.#remember(name, note)
    const findings = kept.flatMap(({ name: witness, note, others, mac }) => {
      if (this.macOf(JSON.stringify([note, others])) !== mac) return []
      return Object.entries(others).flatMap(([name, size]) => {
        const own = kept.find((each) => each.name === name)
        return own && sizeOf(own.note) < size ? [olderThanSeen(name, size, witness)] : []
      })
    })
    return { kept: kept.map(({ name, note }) => ({ name, note })), findings, problems }
  }

  /** Keeps a checkpoint that continues those that are kept. Returns the stores that failed, as sentences. */
  async write(note: string): Promise<readonly string[]> {
    const problems: string[] = []
    const before = [...this.#sizes]
    for (const store of this.stores) {
      const others = Object.fromEntries(before.filter(([name]) => name !== store.name))
      try {
        await store.write(keptText(note, others, this.macOf))
        this.#remember(store.name, note)
      } catch (error) {
        problems.push(`The checkpoint was not kept in ${store.name}: ${(error as Error).message}.`)
      }
    }
    return problems
  }

  #remember(name: string, note: string): void {
    if (this.stores.some((store) => store.name === name && !store.isLocal)) this.#sizes.set(name, sizeOf(note))
  }
}

function olderThanSeen(name: string, size: number, witness: string): Finding {
  const problem = `The checkpoint in ${name} covers fewer events than the ${size} that ${witness} saw there: an earlier state was restored.`
  return { kind: 'checkpoint', place: name, leafIndex: null, problem }
}

/** Another text is a note alone, such as that of a backup, or an invalid one, which is a finding. */
function parsed(text: string): Kept {
  try {
    const { note, others, mac } = JSON.parse(text)
    if (typeof note === 'string' && typeof others === 'object' && others !== null && typeof mac === 'string')
      return { note, others, mac }
  } catch {}
  return { note: text, others: {}, mac: '' }
}

/** Returns whether a note is a checkpoint of a tree that a recorded decision has replaced. */
export function isOfEarlierTree(note: string, { earlierKeyIds }: Pick<AuditTree, 'earlierKeyIds'>): boolean {
  try {
    return parseNote(note).signatures.some(({ keyId }) => earlierKeyIds.includes(keyId))
  } catch {
    return false
  }
}

function sizeOf(note: string): number {
  try {
    return parseCheckpoint(parseNote(note).text).size
  } catch {
    return 0
  }
}
