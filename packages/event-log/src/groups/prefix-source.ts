import type { Position, RecordedEvent } from '../event-log-types.js'
import type { Log } from '../log.js'
import type { StoredEvent } from '../reader/event-rows.js'
import type { GroupSource, SourcePage } from './group-source.js'

/** What an event of the service takes, about: they are much alike, and measuring each would cost more than it tells. */
const serviceEventSize = 2_048

/** Events of the service's own reads: those of streams whose names start with one of the prefixes, or all but system ones. */
export class PrefixSource implements GroupSource<RecordedEvent> {
  readonly isOver = false

  constructor(
    private readonly log: Log,
    private readonly prefixes: readonly string[],
  ) {}

  async read(after: number, maxCount: number): Promise<SourcePage<RecordedEvent>> {
    const page = await this.log.readAll({
      maxCount,
      after: positionOf(after),
      ...(this.prefixes.length > 0 && { streamPrefixes: this.prefixes }),
    })
    return {
      items: page.events.map((event) => ({
        event,
        id: event.id,
        place: Number(event.position.commit),
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
      await this.log.commits.beyond(seen, signal)
      seen = this.log.reader.lastPosition()
      wake()
    }
  }

  /** Not of system events: a checkpoint is one, and would call for the next for ever. */
  async countUnmatched(after: number, through: number, maxCount: number): Promise<{ count: number; seen: number }> {
    if (this.prefixes.length === 0) return { count: 0, seen: through }
    const page = await this.log.readAll({ maxCount, after: positionOf(after) })
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
    const at = link.indexOf('@')
    const fromRevision = Number(link.slice(0, at))
    const [event] = await this.log.readStream(link.slice(at + 1), { fromRevision, maxCount: 1 })
    return event
  }

  laneOf({ stream }: RecordedEvent): string {
    return stream
  }
}

function positionOf(place: number): Position {
  return { commit: BigInt(place), prepare: BigInt(place) }
}
