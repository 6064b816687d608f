import { randomUUID } from 'node:crypto'
import {
  formatCheckpoint,
  generateSigner,
  MemoryTiles,
  parseSigner,
  signNote,
  TreeAppender,
} from '@transferd/transparency-log'
import { leavesOf } from '../../../src/audit/integrity/event-leaf.js'
import { treeBundles } from '../../../src/audit/integrity/log-sealer.js'
import type { SealedLog } from '../../../src/audit/proofs/transfer-proof.js'
import { transferStream } from '../../../src/domain/streams.js'
import { type EventStore, type Position, unparsedPages } from '../../../src/event-store/event-store.js'

export const signer = parseSigner(generateSigner('log.example/transferd'))

/** A log whose tree grows only when a test calls `seal`. */
export class TestSealedLog implements SealedLog {
  readonly tiles = new MemoryTiles()
  readonly key = signer
  #after: Position | undefined
  #size = 0

  constructor(readonly log: EventStore) {}

  /** Seals all events and returns the checkpoint. */
  async seal(): Promise<string> {
    const appender = await TreeAppender.open(this.tiles, this.#size, treeBundles)
    for await (const { events, through } of unparsedPages(this.log, this.#after)) {
      const { names, hashes } = leavesOf(events)
      await appender.append(names, hashes)
      this.#after = through
    }
    await appender.flush()
    this.#size = appender.size
    const text = formatCheckpoint({ origin: signer.name, size: appender.size, root: appender.root() })
    const signed = signNote(text, [signer])
    await this.tiles.write('checkpoint', Buffer.from(signed))
    return signed
  }

  /** Appends an event to the transfer's stream. */
  async append(trackingId: string, type: string, data = {}): Promise<void> {
    const stream = transferStream(trackingId)
    const count = (await this.log.readStream(stream)).length
    const event = { id: randomUUID(), type, data, metadata: { actor: 'test' } }
    await this.log.append(stream, count === 0 ? 'no_stream' : count - 1, [event])
  }
}

/** Appends transfers whose events alternate. `tracking-<n>` has `n % 5 + 1` events. */
export async function appendTransfers(sealed: TestSealedLog, count: number): Promise<void> {
  for (let step = 0; step < 5; step++) {
    const numbers = Array.from({ length: count }, (_, transfer) => transfer).filter((transfer) => step <= transfer % 5)
    const data = { note: 'Ödemeler “quoted” 支付\n', step }
    await Promise.all(numbers.map((transfer) => sealed.append(`tracking-${transfer}`, `Step${step}`, data)))
  }
}
