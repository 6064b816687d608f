import { deepStrictEqual } from 'node:assert/strict'
import type { Decider, RefusalReason } from '../../src/domain/decider.js'

/**
 * `given(events).when(command).then(events | reason)`: expects exact events in order, or the reason of the refusal. Throws
 * otherwise, which fails the test. Everything is deep-frozen, so a decider that changes its input fails.
 */
export function specification<State, Command, Event>(decider: Decider<State, Command, Event, string>) {
  const fold = (events: readonly Event[]) =>
    events.reduce((state, event) => deepFreeze(decider.evolve(state, deepFreeze(event))), decider.initialState)
  return {
    fold,
    given: (...history: Event[]) => ({
      when: (command: Command) => ({
        // biome-ignore lint/suspicious/noThenProperty: given, when and then are the words of the specification, and no caller awaits the object
        then(expected: readonly Event[] | RefusalReason, name?: string) {
          const decision = decider.decide(deepFreeze(command), fold(history))
          if (typeof expected !== 'string') {
            deepStrictEqual(decision, { accepted: true, events: expected }, name)
            return
          }
          deepStrictEqual(decision.accepted || decision.refusal.reason, expected, name)
        },
      }),
    }),
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const part of Object.values(value)) deepFreeze(part)
  }
  return value
}
