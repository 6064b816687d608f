/** The kinds of values that explain a violated rule. Each reader's texts format them in the reader's language. */
interface Kinds {
  /** Minor units. */
  readonly amount: bigint
  readonly number: number
  /** ISO 8601 in UTC. */
  readonly time: string
  /** The actor of an event's metadata, or the name under which the reader knows it. */
  readonly actor: string
  readonly status: string
  readonly role: string
  /** A task of a projection. */
  readonly task: string
  /** The latest changes of a transfer, oldest first. */
  readonly changes: readonly Change[]
  /** Shown unchanged. */
  readonly text: string
}

export interface Change {
  /** The event's type. */
  readonly type: string
  readonly by: string
  readonly at: string
}

export type ValueKind = keyof Kinds
export type RuleValue = Kinds[ValueKind]

/**
 * Every rule that can reject a command or a field of a request, with the values that explain it. The texts are in
 * src/commands/refusal-texts.ts for the merchant API and the command line, and in web/dashboard/texts for the dashboard.
 */
export const rules = {
  // Transfers
  'unknown-transfer': {},
  'reference-reused': {},
  'hash-reused': {},
  'changed-meanwhile': { changes: 'changes' },
  'deposit-required': {},
  'withdrawal-required': {},
  'status-final': { status: 'status' },
  'booking-final': { booked: 'amount', amount: 'amount' },
  'amount-needed': {},
  'reason-needed': { left: 'amount' },
  'confirmation-needed': { requested: 'amount', amount: 'amount' },
  'confirmation-differs': { confirmed: 'amount', amount: 'amount' },
  'receipt-reused': { returned: 'amount' },
  'nothing-to-return': {},
  'return-too-large': { left: 'amount' },
  'not-reopenable': {},
  // Withdrawals
  'payouts-stopped': {},
  'claim-needed': {},
  'claim-expired': { until: 'time' },
  'claimed-by-another': { by: 'actor', until: 'time' },
  'claim-limit': { most: 'number' },
  'four-eyes': {},
  'approval-needed': { amount: 'amount' },
  'approval-not-needed': {},
  'already-paid': {},
  'sepa-euros-only': { currency: 'text' },
  'sepa-amount-too-large': { most: 'amount' },
  'account-not-iban': {},
  // Callbacks
  'unknown-callback': {},
  'resent-too-often': {},
  // Merchants
  'unknown-merchant': {},
  'merchant-exists': {},
  'api-key-unknown': {},
  'api-key-name-taken': {},
  'too-many-api-keys': { most: 'number' },
  // Users
  'unknown-user': {},
  'user-exists': {},
  'user-disabled': {},
  'email-taken': {},
  'last-administrator': {},
  'second-factor-changed': {},
  'code-used': {},
  'wrong-code': {},
  'role-for-all-merchants': { role: 'role' },
  'role-needs-merchants': { role: 'role' },
  // Wallet accounts
  'unknown-account': {},
  'account-exists': {},
  'balance-too-large': {},
  'reference-credited': {},
  // Events
  'unknown-stream': { stream: 'text' },
  'unknown-event': { stream: 'text', revision: 'number' },
  'event-readable': {},
  // Projections
  'projection-busy': { projection: 'text', task: 'task' },
  'nothing-built': {},
  'nothing-kept': {},
  'nothing-to-cancel': {},
  // Access
  'permission-missing': { permission: 'text' },
  'scope-missing': { scope: 'text' },
  'offer-missing': {},
  'not-verified': { problem: 'text' },
  'transfers-open': { trackingIds: 'text' },
  'too-many-open': { most: 'number' },
  'receipt-quota': { megabytes: 'number' },
  // Bodies
  'not-utf8': {},
  'not-json': {},
  'nested-too-deeply': { most: 'number' },
  'key-not-allowed': { key: 'text' },
  'key-repeated': { key: 'text' },
  'body-too-large': {},
  // Fields of any kind
  required: {},
  'unknown-field': {},
  'wrong-type': { types: 'text' },
  'not-equal': { expected: 'text' },
  'not-one-of': { allowed: 'text' },
  'pattern-mismatch': { pattern: 'text' },
  invalid: {},
  'either-or': { other: 'text' },
  'needs-field': { other: 'text' },
  'excludes-field': { other: 'text' },
  // Texts
  blank: {},
  'hidden-characters': {},
  'control-characters': {},
  'blank-or-control-characters': {},
  'too-short': { least: 'number' },
  'too-long': { most: 'number' },
  'text-length': { most: 'number' },
  'one-character': {},
  'equals-email': {},
  unchanged: {},
  'email-invalid': {},
  'iban-invalid': {},
  'bic-invalid': {},
  'api-key-name-invalid': { most: 'number' },
  // Numbers, lists and amounts
  above: { limit: 'number' },
  'too-small': { least: 'number' },
  'too-large': { most: 'number' },
  'whole-number': { least: 'number', most: 'number' },
  'too-few-items': { least: 'number' },
  'too-many-items': { most: 'number' },
  'amount-invalid': {},
  'amount-too-large': { most: 'amount' },
  'amount-out-of-range': { least: 'amount', most: 'amount' },
  'whole-amount': { currency: 'text' },
  'min-above-max': {},
  // Times and places in a list
  'time-invalid': {},
  'time-passed': {},
  'not-after': { other: 'text' },
  'range-too-long': { days: 'number' },
  'cursor-invalid': {},
  'event-not-found': {},
  'time-or-position': {},
  'position-invalid': {},
  'merchant-day-invalid': {},
  'order-unavailable': { allowed: 'text', other: 'text' },
  // Addresses
  'url-invalid': {},
  'url-not-https': {},
  'url-not-http': {},
  'url-with-credentials': {},
  'url-not-public': {},
  'origin-invalid': {},
  'ip-range-invalid': { range: 'text' },
  // Payment methods
  'method-unavailable': { kind: 'text' },
  'method-not-manual': { method: 'number' },
  'instructions-repeated': {},
  'instructions-length': { method: 'number', most: 'number' },
  'instructions-hidden-characters': { method: 'number' },
} as const satisfies { readonly [rule: string]: { readonly [name: string]: ValueKind } }

export type RuleName = keyof typeof rules
export type RuleValues = Readonly<Record<string, RuleValue>>

type NoValues = Readonly<Record<string, never>>

/** The last argument of a function that takes a rule: its values, if it has any. */
export type ValueArguments<Rule extends string> = Rule extends RuleName
  ? keyof (typeof rules)[Rule] extends never
    ? [values?: NoValues]
    : [values: { readonly [Name in keyof (typeof rules)[Rule]]: Kinds[(typeof rules)[Rule][Name] & ValueKind] }]
  : [values?: NoValues]

/** A rule that a command or a field violates, without a word of any language. */
export interface Violation<Rule extends string = RuleName> {
  readonly rule: Rule
  readonly values: RuleValues
}

export interface FieldViolation extends Violation {
  /** The JSON name of the field. */
  readonly field: string
}

export function violate<Rule extends RuleName>(rule: Rule, ...[values]: ValueArguments<Rule>): Violation<Rule> {
  return { rule, values: values ?? {} }
}

/** The result of a decider: the events to append (none if nothing changes), or the rule that rejects the command. */
export type Decision<Event, Rule extends string = RuleName> = Accepted<Event> | Refused<Rule>

export interface Accepted<Event> {
  readonly accepted: true
  readonly events: readonly Event[]
}

export interface Refused<Rule extends string = RuleName> {
  readonly accepted: false
  readonly refusal: Refusal<Rule>
}

/** Why a command is rejected. It carries no secret and no sentence: see {@link Violation}. */
export interface Refusal<Rule extends string = RuleName> extends Violation<Rule> {
  readonly reason: RefusalReason
  /** The field of the command that violates the rule, if the reason is `invalid`. */
  readonly field?: string
}

export type RefusalReason =
  /** Nothing exists under this id. */
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

/** A pure aggregate: the commands that it allows (`decide`) and the state that its events lead to (`evolve`). */
export interface Decider<State, Command, Event, Rule extends string = RuleName> {
  readonly initialState: State
  decide(command: Command, state: State): Decision<Event, Rule>
  evolve(state: State, event: Event): State
}
