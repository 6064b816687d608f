import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { openEventLog } from '../src/event-log.js'
import { type ExpectedRevision, WrongExpectedRevisionError } from '../src/event-log-types.js'
import { tempDirectory } from './support/temp-directory.js'

/** A minimal model of append, in which a stream is a list of ids. */
class Model {
  readonly #streams = new Map<string, string[]>()

  append(stream: string, expectedRevision: ExpectedRevision, ids: readonly string[]): string {
    const stored = this.#streams.get(stream) ?? []
    const wrong = `wrong, actual ${stored.length === 0 ? 'no_stream' : stored.length - 1}`
    if (expectedRevision === 'any' || expectedRevision === 'stream_exists') {
      if (expectedRevision === 'stream_exists' && stored.length === 0) return wrong
      const isKnown = ids.map((id) => stored.includes(id))
      if (!isKnown[0]) {
        if (ids.length > 0) this.#streams.set(stream, [...stored, ...ids])
        return `ok ${Math.max(0, stored.length + ids.length - 1)}`
      }
      return isKnown.every(Boolean) ? `ok ${stored.indexOf(ids.at(-1)!)}` : wrong
    }
    const expected = expectedRevision === 'no_stream' ? 0 : expectedRevision + 1
    if (expected === stored.length) {
      if (ids.length > 0) this.#streams.set(stream, [...stored, ...ids])
      return `ok ${Math.max(0, expected + ids.length - 1)}`
    }
    const following = stored.slice(expected, expected + ids.length)
    if (ids.length > 0 && following.join() === ids.join()) return `ok ${expected + ids.length - 1}`
    return wrong
  }

  ids(stream: string): readonly string[] {
    return this.#streams.get(stream) ?? []
  }
}

const append = fc.record({
  stream: fc.constantFrom('x', 'y'),
  expectedRevision: fc.oneof(fc.constantFrom('no_stream', 'any', 'stream_exists'), fc.nat(6)),
  letters: fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 4 }),
})
/** Lists of units, each of which is a list of appends in order. The units of an inner list are called simultaneously. */
const rounds = fc.array(fc.array(fc.array(append, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }), {
  minLength: 1,
  maxLength: 8,
})

t.test('returns and stores what the model predicts for random appends', async (t) => {
  const store = await openEventLog({ directory: tempDirectory(t), writerThread: false })
  t.teardown(() => store.close())
  await fc.assert(
    fc.asyncProperty(rounds, async (rounds) => {
      const model = new Model()
      const run = randomUUID()
      const ids = new Map(['a', 'b', 'c', 'd'].map((letter) => [letter, randomUUID()]))
      for (const units of rounds) {
        const results = await Promise.all(
          units.map((unit) =>
            store
              .appendInOrder(
                unit.map(({ stream, expectedRevision, letters }) => ({
                  stream: `${stream}-${run}`,
                  expectedRevision,
                  events: letters.map((letter) => ({ id: ids.get(letter) ?? '', type: 'T', data: {}, metadata: {} })),
                })),
              )
              .then(
                (appended) => appended.map(({ revision }) => `ok ${revision}`).join(),
                (error: unknown) =>
                  error instanceof WrongExpectedRevisionError ? `wrong, actual ${error.actual}` : error,
              ),
          ),
        )
        t.same(
          results,
          units.map((unit) => expectedResult(model, unit)),
        )
      }
      for (const stream of ['x', 'y']) {
        const stored = (await store.readStream(`${stream}-${run}`)).map(({ id }) => id)
        t.same(
          stored,
          model.ids(stream).map((letter) => ids.get(letter)),
        )
      }
    }),
    { numRuns: 200 },
  )
})

function expectedResult(
  model: Model,
  unit: readonly { stream: string; expectedRevision: ExpectedRevision; letters: readonly string[] }[],
): string {
  const results: string[] = []
  for (const { stream, expectedRevision, letters } of unit) {
    const result = model.append(stream, expectedRevision, letters)
    if (result.startsWith('wrong')) return result
    results.push(result)
  }
  return results.join()
}
