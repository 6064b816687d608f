import type { ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import type { ParkedEvent } from '../event-store.js'
import { Incoming } from './incoming.js'
import type { RawClient } from './raw-client.js'
import { toRecordedEvent } from './recorded-event.js'
import { readStreamRequest } from './requests.js'
import { within } from './within.js'

const what = 'reading parked events'

/** The server keeps them as links, in a stream beside the group's checkpoints; replayed ones are truncated from it. */
export async function parkedEvents(
  client: RawClient,
  group: string,
  maxCount: number,
  deadlineMs: number,
): Promise<readonly ParkedEvent[]> {
  const stream = `$persistentsubscription-$all::${group}-parked`
  const answers = new Incoming(
    await within(deadlineMs, what, client.read(readStreamRequest(stream, 'forwards', 0, maxCount))),
  )
  const parked: ParkedEvent[] = []
  try {
    while (await answers.more(what, deadlineMs)) {
      const entry = answers.take()?.getEvent()?.getEvent()
      const event = entry && toParkedEvent(entry)
      if (event) parked.push(event)
    }
    return parked
  } finally {
    answers.cancel()
  }
}

/** The entry's data is `<revision>@<stream>`. */
function toParkedEvent(entry: ReadResp.ReadEvent.RecordedEvent): ParkedEvent | undefined {
  const [, revision, stream] = /^(\d+)@(.*)$/s.exec(Buffer.from(entry.getData_asU8()).toString('utf8')) ?? []
  if (revision === undefined || stream === undefined) return undefined
  const { revision: parkedRevision, metadata, recordedAtMs } = toRecordedEvent(entry)
  const addedAtMs = Date.parse(String(metadata.added))
  return {
    parkedRevision,
    stream,
    revision: Number(revision),
    reason: String(metadata.reason ?? ''),
    parkedAtMs: Number.isNaN(addedAtMs) ? recordedAtMs : addedAtMs,
  }
}
