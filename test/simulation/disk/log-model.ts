import type { Append, AppendResult, RecordedEvent } from '@transferd/event-log'
import { must } from '../violation.js'

/** A call of a client. Until it is acknowledged or rejected, its outcome is unknown. */
export interface Call {
  readonly appends: readonly Append[]
  results: readonly AppendResult[] | undefined
  isRejected: boolean
}

/** The knowledge of the clients and readers of a log, which the log must contain. */
export class LogModel {
  readonly calls: Call[] = []
  /** The events that a reader has received, in the order of the log. */
  readonly seen: RecordedEvent[] = []
  readonly #placeOf = new Map<string, { readonly call: Call; readonly append: number; readonly index: number }>()

  add(appends: readonly Append[]): Call {
    const call = { appends, results: undefined, isRejected: false }
    this.calls.push(call)
    for (const [append, { events }] of appends.entries())
      for (const [index, { id }] of events.entries()) this.#placeOf.set(id!, { call, append, index })
    return call
  }

  acknowledge(call: Call, results: readonly AppendResult[]): void {
    must('nothing-lost', !call.isRejected, () => `${nameOf(call)} is acknowledged after a rejection`)
    const before = call.results ?? results
    must('nothing-lost', textOf(before) === textOf(results), () => `a repeat of ${nameOf(call)} has another result`)
    call.results = results
  }

  reject(call: Call): void {
    must('nothing-lost', !call.results, () => `a repeat of ${nameOf(call)} is rejected after it was acknowledged`)
    call.isRejected = true
  }

  /** Takes what a reader received. It was committed, so it is there forever. */
  see(events: readonly RecordedEvent[]): void {
    for (const event of events) {
      const place = Number(event.position.commit) - 1
      must('nothing-lost', place <= this.seen.length, () => `a reader misses position ${this.seen.length + 1}`)
      const before = this.seen[place]
      if (before) must('nothing-lost', before.id === event.id, () => `position ${place + 1} has another event`)
      else this.seen.push(event)
    }
  }

  /** Checks the whole log. */
  check(events: readonly RecordedEvent[]): void {
    must('nothing-lost', events.length >= this.seen.length, () => `position ${events.length + 1} was seen, and is lost`)
    this.see(events)
    const revisions = new Map<string, number>()
    const owners = new Map<string, string>()
    const stored = new Map<Call, number>()
    for (const [place, event] of events.entries()) {
      const { stream, revision } = event
      const where = `position ${place + 1}, ${stream}@${revision},`
      must('nothing-lost', Number(event.position.commit) === place + 1, () => `${where} is in another place`)
      must('nothing-lost', revision === (revisions.get(stream) ?? -1) + 1, () => `${where} does not follow its stream`)
      revisions.set(stream, revision)
      const expected = this.#placeOf.get(event.id)
      must('nothing-lost', expected, () => `${where} was never appended`)
      const { call, append, index } = expected
      const { events: appended, expectedRevision, reserves = [] } = call.appends[append]!
      const isSame = JSON.stringify(appended[index]!.data) === JSON.stringify(event.data)
      must('nothing-lost', isSame, () => `${where} has a different content`)
      const count = stored.get(call) ?? 0
      must('nothing-lost', count === countBefore(call, append) + index, () => `${where} is a part of ${nameOf(call)}`)
      stored.set(call, count + 1)
      const first = expectedRevision === 'no_stream' ? 0 : Number(expectedRevision) + 1
      must('nothing-lost', Number.isNaN(first) || revision === first + index, () => `${where} is at another revision`)
      for (const key of reserves) {
        const owner = owners.get(key) ?? stream
        must('nothing-lost', owner === stream, () => `${where} has the key ${key}, which ${owner} reserved`)
        owners.set(key, owner)
      }
    }
    for (const call of this.calls) this.#checkCall(call, stored.get(call) ?? 0, events)
  }

  #checkCall(call: Call, stored: number, events: readonly RecordedEvent[]): void {
    const whole = call.appends.map((_, append) => countBefore(call, append + 1))
    must('nothing-lost', stored === 0 || whole.includes(stored), () => `${nameOf(call)} is there in part`)
    const isWhole = stored === whole.at(-1)
    if (call.isRejected) must('nothing-lost', !isWhole, () => `${nameOf(call)} was rejected, and is there`)
    if (!call.results) return
    must('nothing-lost', isWhole, () => `${nameOf(call)} was acknowledged, and is lost`)
    for (const [append, { revision, position }] of call.results.entries()) {
      const last = call.appends[append]!.events.at(-1)!
      const event = events[Number(position.commit) - 1]
      const isThere = event?.id === last.id && event?.revision === revision
      must('nothing-lost', isThere, () => `${nameOf(call)} is not where it was acknowledged`)
    }
  }
}

const countBefore = ({ appends }: Call, append: number): number =>
  appends.slice(0, append).reduce((sum, { events }) => sum + events.length, 0)
const nameOf = ({ appends: [first] }: Call): string => `the append to ${first!.stream} after ${first!.expectedRevision}`
const textOf = (results: readonly AppendResult[]): string =>
  results.map(({ revision, position }) => `${revision} at ${position.commit}`).join(', ')
