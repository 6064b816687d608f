import type { RecordedEvent } from '../../src/event-store/event-store.js'
import type { Projection } from '../../src/projections/projection.js'
import { applyEvents } from '../../src/projections/projection.js'
import { ProjectionPointer, progressAfter } from '../../src/projections/projection-pointer.js'
import type { Progress } from '../../src/read-models/documents.js'
import { ServedDocuments } from '../../src/read-models/find-documents.js'
import type { Collection, ReadModels } from '../../src/read-models/read-models.js'
import { buildName } from '../../src/read-models/read-models-adapter.js'

/** Applies events to the documents of a collection. */
export function applyTo(collection: Collection, projection: Projection, events: readonly RecordedEvent[]) {
  return applyEvents(projection, new ServedDocuments(collection), events)
}

/** The build that {@link applyServed} serves. */
export function servedCollection(readModels: ReadModels, { collection, version }: Projection): Collection {
  return readModels.collection(buildName(collection, version, 'test'))
}

/** Serves a build that contains the projection's events and has examined the log up to `last`. */
export async function applyServed(
  readModels: ReadModels,
  projection: Projection,
  events: readonly RecordedEvent[],
  last: Pick<RecordedEvent, 'position'> | undefined,
): Promise<void> {
  const { collection, version, indexes } = projection
  const build = buildName(collection, version, 'test')
  await readModels.createIndexes(build, indexes)
  if (events.length > 0) await applyTo(readModels.collection(build), projection, events)
  await point(readModels, projection, last ? progressAfter(last.position, events.at(-1), {}) : {})
}

/** Serves the build of {@link applyServed}, with this progress. */
export async function point(readModels: ReadModels, projection: Projection, progress: Progress): Promise<void> {
  const { name, collection, version } = projection
  const clock = () => '2026-11-22T10:00:00.000Z'
  const pointer = new ProjectionPointer(readModels, name, 1, clock)
  await pointer.save({ served: { collection: buildName(collection, version, 'test'), version, progress, at: clock() } })
}
