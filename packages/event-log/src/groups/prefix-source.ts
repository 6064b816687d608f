import type { RecordedEvent } from '../event-log-types.js'
import { toPosition } from '../file/positions.js'
import type { Log } from '../log.js'
import type { StoredEvent } from '../reader/event-rows.js'
import { type GroupSource, parseLink, type SourcePage } from './group-source.js'

/** The approximate size of the service's events. They are similar, so measuring each of them is not worth its cost. */
const serviceEventSize = 2_048

/** Reads the events of streams whose names start with one of the prefixes, or of all streams except system streams. */
export class PrefixSource implements GroupSource<RecordedEvent> {
  readonly hasEnded = false

  constructor(
    private readonly log: Log,
    private readonly prefixes: readonly string[],
  ) {}

  async read(after: number, maxCount: number): Promise<SourcePage<RecordedEvent>> {
    const page = await this.log.readAll({
      maxCount,
      after: toPosition(after),
      ...(this.prefixes.length > 0 && { streamPrefixes: this.prefixes }),
    })
    return {
      items: page.events.map((event) => ({
        event,
        id: event.id,
        position: Number(event.position.commit),
        lane: event.stream,
        size: serviceEventSize,
      })),
      through: Math.max(after, Number(page.checkpoint?.commit ?? 0n)),
      unmatched: 0,
      atEnd: page.atEnd,
    }
  }

  async listen(wake: () => void, signal: AbortSignal): Promise<void> {
    let seen = 0
    while (!signal.aborted) {
      await this.log.commits.waitForCommit(seen, signal)
      seen = this.log.reader.lastPosition()
      wake()
    }
  }

  /** Counts no system events: a checkpoint is a system event and would cause the next one, forever. */
  async countUnmatched(after: number, through: number, maxCount: number): Promise<{ count: number; seen: number }> {
    if (this.prefixes.length === 0) return { count: 0, seen: through }
    const page = await this.log.readAll({ maxCount, after: toPosition(after) })
    const unmatched = page.events.filter(
      ({ stream, position }) =>
        Number(position.commit) <= through && !this.prefixes.some((prefix) => stream.startsWith(prefix)),
    )
    return { count: unmatched.length, seen: Math.min(through, Number(page.checkpoint?.commit ?? 0n)) }
  }

  parkedAs({ stream, revision }: RecordedEvent): { link: string; number: number } {
    return { link: `${revision}@${stream}`, number: revision }
  }

  async original(_parked: StoredEvent, link: string): Promise<RecordedEvent | undefined> {
    const { stream, revision } = parseLink(link)
    const [event] = await this.log.readStream(stream, { fromRevision: revision, maxCount: 1 })
    return event
  }

  laneOf({ stream }: RecordedEvent): string {
    return stream
  }
}
