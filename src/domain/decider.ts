import type { RuleName, ValueArguments, Violation } from './rules.js'

/** The result of a decider: the events to append (none if nothing changes), or the rule that rejects the command. */
export type Decision<Event, Rule extends string = RuleName> = Accepted<Event> | Refused<Rule>
type Accepted<Event> = { readonly accepted: true; readonly events: readonly Event[] }
export type Refused<Rule extends string = RuleName> = { readonly accepted: false; readonly refusal: Refusal<Rule> }

/** Why a command is rejected. It carries no secret and no sentence: see {@link Violation}. */
export interface Refusal<Rule extends string = RuleName> extends Violation<Rule> {
  readonly reason: RefusalReason
  /** The field of the command that violates the rule, if the reason is `invalid`. */
  readonly field?: string
}

export type RefusalReason =
  | 'not-found'
  /** The same id with different content, or a transition that the present state does not allow. */
  | 'conflict'
  /** One field of the command is invalid, regardless of the state. */
  | 'invalid'

export function accept<Event>(...events: Event[]): Accepted<Event> {
  return { accepted: true, events }
}

export function refuse<Rule extends string>(
  reason: Exclude<RefusalReason, 'invalid'>,
  rule: Rule,
  ...[values]: ValueArguments<Rule>
): Refused<Rule> {
  return { accepted: false, refusal: { reason, rule, values: values ?? {} } }
}

export function refuseField(field: string, violation: Violation): Refused {
  return { accepted: false, refusal: { reason: 'invalid', field, ...violation } }
}

export interface Folded<State, Event> {
  readonly initialState: State
  evolve(state: State, event: Event): State
  /** Returns the state after an unreadable event. Without this function, it is unknown. */
  evolveUnreadable?(state: State, recordedAtMs: number): State
}

/** A pure aggregate: the commands that it allows, and the state that its events lead to. */
export interface Decider<State, Command, Event, Rule extends string = RuleName> extends Folded<State, Event> {
  decide(command: Command, state: State): Decision<Event, Rule>
}

export function violate<Rule extends RuleName>(rule: Rule, ...[values]: ValueArguments<Rule>): Violation<Rule> {
  return { rule, values: values ?? {} }
}
