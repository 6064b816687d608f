import type { ReadStreamOptions, RecordedEvent } from '../event-store.js'
import type { Connection } from './eventstoredb-connection.js'
import { toRecordedEvent } from './recorded-event.js'
import { readStreamRequest } from './requests.js'

export async function readStream(
  connection: Connection,
  stream: string,
  options: ReadStreamOptions = {},
): Promise<readonly RecordedEvent[]> {
  const { direction = 'forwards', fromRevision, maxCount = Number.MAX_SAFE_INTEGER } = options
  if (fromRevision !== undefined) checkCount('fromRevision', fromRevision, 0)
  checkCount('maxCount', maxCount, 1)
  const what = 'reading a stream'
  const request = readStreamRequest(stream, direction, fromRevision, maxCount)
  return (await connection.use(what, (client) => client.readEvents(what, request))).map(toRecordedEvent)
}

export function checkCount(what: string, value: number, least: number): void {
  if (!Number.isSafeInteger(value) || value < least) throw new TypeError(`${what} must be a whole number from ${least}`)
}
