import { randomUUID } from 'node:crypto'
import { parseObject } from '../../embedded/streams/event-body.js'
import { metadataStream } from '../../embedded/streams/stream-metadata.js'
import type { StoredEvent } from '../../embedded/streams/stream-reader.js'
import type { StreamStore } from '../../embedded/streams/stream-store.js'
import { placeOfResolved, type ResolvedEvent, resolve } from '../recorded-event.js'

const pageEvents = 200

/** Where a group keeps links to the events that were given up: a stream any client can read. */
export class ParkedStream {
  constructor(
    private readonly store: StreamStore,
    readonly name: string,
  ) {}

  get count(): number {
    const { isMissing, first, current } = this.store.reader.view(this.name)
    return isMissing ? 0 : Math.max(0, current - first + 1)
  }

  /** Revisions not yet replayed: from the first up to, not including, the end. */
  get range(): { from: number; until: number } {
    const { isMissing, first, current } = this.store.reader.view(this.name)
    return isMissing ? { from: 0, until: 0 } : { from: first, until: current + 1 }
  }

  /** What a replay had queued and nobody was given before the group was loaded anew. */
  get interrupted(): { from: number; until: number } | undefined {
    const last = this.store.reader.last(metadataStream(this.name))
    const { $tb, replayedFrom } = (last && parseObject(last.data)) ?? {}
    if (typeof replayedFrom !== 'number' || typeof $tb !== 'number') return undefined
    return { from: replayedFrom, until: $tb }
  }

  /** Parked events with their originals, hidden ones too, in pages. */
  *between(from: number, until: number): Generator<{ resolved: ResolvedEvent; revision: number }> {
    const { reader } = this.store
    let at = from
    while (at < until) {
      const view = { ...reader.view(this.name), first: 0 }
      const page = reader.streamPage(view, 'forwards', at, Math.min(pageEvents, until - at))
      for (const parked of page) yield { resolved: resolve(parked, reader), revision: parked.revision }
      const last = page.at(-1)
      if (last === undefined) return
      at = last.revision + 1
    }
  }

  /** Resolves once it is durable. */
  async add(resolved: ResolvedEvent, reason: string): Promise<void> {
    const number = placeOfResolved(resolved).revision
    const metadata = {
      added: new Date().toISOString(),
      reason,
      // The real server leaves out what is 0.
      ...(number !== 0 && { subscriptionEventNumber: number }),
    }
    const event = {
      id: randomUUID(),
      type: '$>',
      isJson: false,
      data: Buffer.from(linkTo(resolved)),
      metadata: Buffer.from(JSON.stringify(metadata)),
    }
    await this.store.append(this.name, 'any', [event])
  }

  /**
   * Hides what is replayed. `replayedFrom` stays with it until all of that has been delivered: a group that is loaded
   * anew before takes it up again, where the real server has lost it.
   */
  async truncate(before: number, replayedFrom: number | undefined): Promise<void> {
    const data = {
      $tb: before,
      $acl: { $r: '$admins', $w: '$admins', $d: '$admins', $mr: '$admins', $mw: '$admins' },
      ...(replayedFrom !== undefined && { replayedFrom }),
    }
    const event = {
      id: randomUUID(),
      type: '$metadata',
      isJson: true,
      data: Buffer.from(JSON.stringify(data)),
      metadata: new Uint8Array(0),
    }
    await this.store.append(metadataStream(this.name), 'any', [event])
  }
}

/** A link to the original: of a link that leads nowhere its own text. */
function linkTo({ event, link }: ResolvedEvent): string {
  if (event === undefined) return Buffer.from((link as StoredEvent).data).toString()
  return `${event.revision}@${event.stream}`
}
