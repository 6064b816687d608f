import type { EventStore, RecordedEvent } from './event-store.js'

/**
 * The last event of a stream; undefined when there is none. The port reads forwards only, so the steps are doubled until one is
 * beyond the end, then halved: twenty small reads in a stream of a million. @throws StoreUnavailableError
 */
export async function newestEvent(store: EventStore, stream: string): Promise<RecordedEvent | undefined> {
  const at = async (revision: number) => (await store.readStream(stream, { fromRevision: revision, maxCount: 1 }))[0]
  let last = await at(0)
  let step = 1
  while (last) {
    const further = await at(last.revision + step)
    if (further) {
      last = further
      step *= 2
    } else if (step === 1) return last
    else step = Math.ceil(step / 2)
  }
  return last
}
