import { merchantStream, userStream } from '../../domain/streams.js'
import { comparePositions, type EventStore, type Position, type RecordedEvent } from '../../event-store/event-store.js'
import { readableEvent } from '../../event-store/read-event.js'

/**
 * The names of users and merchants while the log is read. A name is that of the current event, and depends on no later event: a read
 * that starts later, or is repeated on a longer log, returns the same names.
 */
export class LogNames {
  /** The current name by stream; `null` if no readable event contains one. */
  readonly #names = new Map<string, string | null>()

  constructor(private readonly store: Pick<EventStore, 'readStream'>) {}

  /** Moves on to the next event of the log. */
  pass(recorded: RecordedEvent): void {
    const name = nameIn(recorded)
    if (name !== undefined) this.#names.set(recorded.stream, name)
  }

  /** Returns the name of a user, or any other actor unchanged. @throws StoreUnavailableError */
  async actor(actor: string, at: Position): Promise<string> {
    const [, userId] = /^user:(.*)$/s.exec(actor) ?? []
    // The first event has the name of a user, which does not change.
    return (userId === undefined ? null : await this.#nameOf(userStream(userId), at, 1)) ?? actor
  }

  /** Returns the name of a merchant at the position, or `null` if it is unknown. @throws StoreUnavailableError */
  merchant(merchantId: string, at: Position): Promise<string | null> {
    return this.#nameOf(merchantStream(merchantId), at)
  }

  async #nameOf(stream: string, at: Position, maxCount?: number): Promise<string | null> {
    const known = this.#names.get(stream)
    if (known !== undefined) return known
    const events = await this.store.readStream(stream, maxCount === undefined ? {} : { maxCount })
    const names = events
      .filter(({ position }) => comparePositions(position, at) <= 0)
      .flatMap((recorded) => nameIn(recorded) ?? [])
    const name = names.at(-1) ?? null
    this.#names.set(stream, name)
    return name
  }
}

const namingTypes: ReadonlySet<string> = new Set(['UserCreated', 'MerchantRegistered', 'MerchantSettingsChanged'])

/** Returns the name that an event gives to its user or merchant, or `undefined`. */
function nameIn(recorded: RecordedEvent): string | undefined {
  const event = namingTypes.has(recorded.type) ? readableEvent(recorded) : undefined
  if (event?.type === 'UserCreated') return event.data.name
  if (event?.type === 'MerchantRegistered') return event.data.settings.name
  return event?.type === 'MerchantSettingsChanged' ? event.data.changes.name : undefined
}
