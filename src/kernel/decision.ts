/** What a decider answers: the events to append (none when nothing changes), or why the command is refused. */
export type Decision<Event> =
  | { readonly accepted: true; readonly events: readonly Event[] }
  | { readonly accepted: false; readonly refusal: Refusal }

export interface Refusal {
  readonly reason: RefusalReason
  /** A full sentence for a person; never carries a secret. */
  readonly message: string
  /** Which rule refused it, or the field that is wrong, where the reason alone does not tell the caller what to answer. */
  readonly rule?: string
}

export type RefusalReason =
  /** Nothing is known under this id. */
  | 'not-found'
  /** The same id with another content, or a transition the present state does not allow. */
  | 'conflict'
  /** The request's hashCode stands for another one. */
  | 'hash-reused'

export function accept<Event>(...events: Event[]): Decision<Event> {
  return { accepted: true, events }
}

export function refuse(reason: RefusalReason, message: string, rule?: string): { accepted: false; refusal: Refusal } {
  return { accepted: false, refusal: { reason, message, ...(rule !== undefined && { rule }) } }
}

/** A pure aggregate: what may happen (`decide`) and what has happened (`evolve`). */
export interface Decider<State, Command, Event> {
  readonly initialState: State
  decide(command: Command, state: State): Decision<Event>
  evolve(state: State, event: Event): State
}
