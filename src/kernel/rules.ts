/** The values that explain a violated rule, by their kind. Each reader's texts format them in the reader's language. */
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
  readonly task: string
  /** The latest changes of a transfer, oldest first. */
  readonly changes: readonly Change[]
  readonly text: string
}

export type Change = { readonly type: string; readonly by: string; readonly at: string }
export type ValueKind = keyof Kinds
export type RuleValue = Kinds[ValueKind]

/** The kinds of the values by their names. A value with any other name is a text. */
const kinds = {
  ...({ amount: 'amount', booked: 'amount', confirmed: 'amount', largest: 'amount', left: 'amount' } as const),
  ...({ requested: 'amount', returned: 'amount', smallest: 'amount' } as const),
  ...({ days: 'number', kibibytes: 'number', least: 'number', limit: 'number', megabytes: 'number' } as const),
  ...({ method: 'number', most: 'number', revision: 'number' } as const),
  ...({
    until: 'time',
    done: 'time',
    by: 'actor',
    status: 'status',
    role: 'role',
    task: 'task',
    changes: 'changes',
  } as const),
}

export function kindOf(name: string): ValueKind {
  const known: { readonly [name: string]: ValueKind } = kinds
  return known[name] ?? 'text'
}

/**
 * Every rule that can reject a command or a field of a request, with its text for the merchant API and the command line. `{field}` is the
 * field that violates the rule, every other name a value of the rule. The dashboard has its own texts in web/dashboard/texts.
 */
export const ruleTexts = {
  // Transfers
  'unknown-transfer': 'Transfer not found.',
  'reference-reused': 'This referenceId was already used with different content.',
  'hash-reused': 'This hashCode was already used for a different request.',
  'changed-meanwhile': '{changes}',
  'deposit-required': 'This is possible only for a deposit.',
  'withdrawal-required': 'This is possible only for a withdrawal.',
  'status-final': 'The transfer is {status}, which is a final status.',
  'booking-final': 'The transfer was completed with {booked}, which is final. It cannot be completed with {amount}.',
  'amount-needed': 'None of the received money is left. Specify the amount to complete the transfer.',
  'reason-needed': '{left} of the received money is left. Give a reason to complete with a different amount.',
  'confirmation-needed':
    'The requested amount is {requested}. To complete with {amount}, also specify it as the confirmed amount.',
  'confirmation-differs': 'The confirmed amount is {confirmed}, but the amount is {amount}.',
  'receipt-reused': 'A return of {returned} with this receipt is already recorded.',
  'nothing-to-return': 'Nothing to return.',
  'return-too-large': 'Only {left} can be returned.',
  'not-reopenable': 'Only a cancelled or failed deposit can be reopened.',
  // Withdrawals
  'payouts-stopped': 'Payouts are stopped. An administrator must resume them.',
  'claim-needed': 'Claim the withdrawal before you settle it.',
  'claim-expired': 'Your claim expired at {until}. Claim the withdrawal again.',
  'claimed-by-another': '{by} has claimed the withdrawal until {until}.',
  'held-in-bank-file': '{by} holds the withdrawal, because it is in the bank file {file}.',
  'in-bank-file':
    '{by} put the withdrawal into the bank file {file} at {done}. The bank may have paid it. To put it into another file, name this file and give a reason.',
  'in-manual-control':
    'The withdrawal is in manual control. Review it, then settle it alone or include manual control in the batch.',
  'done-before': '{by} already did this at {done}. Nothing was changed.',
  'claim-limit': 'You have claimed or approved the withdrawal {most} times. Another user must settle it.',
  'four-eyes': 'A withdrawal cannot be approved and paid by the same user.',
  'approval-needed': 'Another user must first approve a payment of {amount} to this account.',
  'approval-not-needed': 'This withdrawal needs no approval.',
  'sepa-euros-only': 'A SEPA file contains euros, but the currency of the service is {currency}.',
  'sepa-amount-too-large': 'The amount is above {largest}, the largest SEPA payment.',
  'account-not-iban': 'The account number is not a valid IBAN.',
  'iban-not-sepa': 'SEPA payments cannot reach the country {country}.',
  'qr-iban': 'SEPA payments cannot use a QR-IBAN. Use the ordinary IBAN of the account.',
  'name-not-payable': 'The name must contain a letter or digit that banks accept in payments in {currency}.',
  // Callbacks
  'unknown-callback': 'Callback not found.',
  'resent-too-often': 'This callback was resent just now.',
  // Merchants
  'unknown-merchant': 'Merchant not found.',
  'merchant-exists': 'This merchant already exists.',
  'api-key-unknown': 'API key not found.',
  'api-key-name-taken': 'The merchant already has a key with this name.',
  'too-many-api-keys': 'A merchant can have at most {most} keys.',
  // Users
  'unknown-user': 'User not found.',
  'user-exists': 'This user already exists.',
  'user-disabled': 'The user is disabled.',
  'email-taken': 'This email is already in use.',
  'second-administrator-needed': 'Another administrator must confirm this.',
  'last-administrator': 'This is the last administrator. Create another administrator first.',
  'second-factor-changed': 'The second factor has changed.',
  'second-factor-missing': 'Set up the second factor first.',
  'code-used': 'This code or a later one was already used. Wait for the next one, or use another recovery code.',
  'wrong-code': 'Wrong code.',
  'role-for-all-merchants': 'The role {role} applies to all merchants, so name none.',
  'role-needs-merchants': 'The role {role} requires one or more merchants.',
  // Wallet accounts
  'unknown-account': 'Wallet account not found.',
  'account-exists': 'A wallet account with this number already exists.',
  'balance-too-large': 'The balance would be too large.',
  'reference-credited': 'A different amount was already credited under this reference.',
  // Events
  'unknown-stream': '{stream} is not a stream of the service.',
  'unknown-event': 'Event {stream}@{revision} not found.',
  'event-readable': 'The event can be read. Only an unreadable event can be skipped.',
  // Projections
  'projection-busy': 'The projection {projection} is busy: the task {task} has not ended.',
  'nothing-built': 'Nothing to switch to: no new version is built.',
  'nothing-kept': 'Nothing to roll back to: no version from before the last switch is kept.',
  'nothing-to-cancel': 'Nothing to cancel: no task is in progress.',
  // Access
  'permission-missing': 'This requires the permission {permission}.',
  'scope-missing': 'This requires the scope {scope}.',
  'offer-missing': 'The offered second factor has expired. Start again.',
  'not-verified': '{problem}',
  'transfers-open': 'Open transfers: {trackingIds}.',
  'too-many-open': 'You can have at most {most} of these open at the same time.',
  'receipt-quota': 'Each user can upload {megabytes} MB of receipts per day.',
  // Bodies
  'not-utf8': 'The body is not valid UTF-8.',
  'not-json': 'The body is not valid JSON.',
  'nested-too-deeply': 'The JSON is nested deeper than {most} levels.',
  'key-not-allowed': 'The key {key} is not allowed.',
  'key-repeated': 'The key {key} appears twice.',
  'body-too-large': 'The body is larger than {kibibytes} KiB.',
  // Fields of any kind
  required: '{field} is required.',
  'unknown-field': '{field} is not a field of this request.',
  'wrong-type': '{field} must be of type {types}.',
  'not-equal': '{field} must be {expected}.',
  'not-one-of': '{field} must be one of: {allowed}.',
  'pattern-mismatch': '{field} must match the pattern {pattern}.',
  invalid: '{field} is invalid.',
  'either-or': 'Specify either {field} or {other}.',
  'needs-field': '{field} requires {other}.',
  'excludes-field': '{field} cannot be combined with {other}.',
  // Texts
  blank: '{field} must not be blank.',
  'hidden-characters':
    '{field} must not contain characters that are not displayed as they are stored, such as control, invisible or direction-changing ones.',
  'control-characters': '{field} must not contain control characters.',
  'blank-or-control-characters': '{field} must not be blank or contain control characters.',
  'too-short': '{field} must have at least {least} characters.',
  'too-long': '{field} must have at most {most} characters.',
  'text-length': '{field} must have 1 to {most} characters.',
  'one-character': '{field} must not repeat a single character.',
  'common-password': '{field} is a common password, which attackers try first.',
  'equals-email': '{field} must not be the email.',
  unchanged: '{field} must be different from the current one.',
  'email-invalid':
    '{field} must be an email address such as name@example.com, in ASCII characters. Enter an internationalized domain in its xn-- form.',
  'not-sepa-text': '{field} must contain a letter or digit that banks accept in SEPA payments.',
  'country-invalid': '{field} must be a country code of two letters, such as DE.',
  'address-needed':
    '{field} is required, because payments from or to accounts in {countries} need the address of the payer.',
  'iban-invalid': '{field} must be a valid IBAN.',
  'bic-invalid': '{field} must be a valid BIC of 8 or 11 characters.',
  'api-key-name-invalid': '{field} must have 1 to {most} of the characters A-Z a-z 0-9 . _ -',
  // Numbers, lists, keys and amounts
  above: '{field} must be greater than {limit}.',
  'too-small': '{field} must be at least {least}.',
  'too-large': '{field} must be at most {most}.',
  'whole-number': '{field} must be an integer from {least} to {most}.',
  'too-few-items': '{field} must have at least {least} entries.',
  'too-many-items': '{field} must have at most {most} entries.',
  'too-many-keys': '{field} must have at most {most} keys.',
  'key-too-short': '{field} must have keys of at least {least} characters. {key} is too short.',
  'key-too-long': '{field} must have keys of at most {most} characters. {key} is too long.',
  'key-pattern-mismatch': '{field} must have keys that match the pattern {pattern}. {key} does not.',
  'amount-invalid': '{field} must be a plain number greater than 0 with at most two decimals.',
  'amount-too-large': '{field} must be at most {largest}.',
  'amount-out-of-range': '{field} must be from {smallest} to {largest}.',
  'whole-amount': '{field} must be a whole amount because {currency} has no decimals.',
  'min-above-max': 'The minimum amount must not be greater than the maximum amount.',
  // Times and places in a list
  'time-invalid': '{field} must be an ISO 8601 date, or a time with a time zone.',
  'date-invalid': '{field} must be a date such as 2026-11-23.',
  'date-passed': '{field} must not be in the past. The next possible day is {next}.',
  'date-too-late': '{field} must be {latest} or earlier.',
  'not-target-day':
    '{field} must be a day on which banks make SEPA payments, not a weekend or a TARGET holiday. The next possible day is {next}.',
  'time-zone-invalid': '{field} must be a time zone, such as Europe/Istanbul.',
  'time-passed': '{field} must be in the future.',
  'not-after': '{field} must be after {other}.',
  'range-too-long': 'The range must not be longer than {days} days.',
  'cursor-invalid': '{field} must be the cursor of an earlier response.',
  'event-not-found': '{field} names an event that is not in the log. Start again without it.',
  'time-or-position': '{field} must be an ISO 8601 time or a position in the log.',
  'position-invalid': '{field} must be a position in the log.',
  'merchant-day-invalid': '{field} must be a merchantId or <merchantId>/<day>.',
  'order-unavailable': '{field} must be one of: {allowed} when combined with {other}.',
  // Addresses
  'url-invalid': '{field} must be a valid URL.',
  'logo-invalid': 'A logo must be a PNG, JPEG or WebP image with at most {most} pixels per side.',
  'url-not-https': '{field} must start with https://.',
  'url-not-http': '{field} must be an http or https URL.',
  'receipt-unknown':
    '{field} is not the address of a stored receipt. Upload the receipt, and use the returned address.',
  'url-with-credentials': '{field} must not contain a user name or password.',
  'url-not-allowed': '{field} must lead to a public address, or to a network of CALLBACK_ALLOWED_NETWORKS.',
  'origin-invalid':
    '{field} must contain only origins such as https://shop.example.com, in lower case and without a path.',
  'ip-range-invalid': '{range} is not an IP address or CIDR range.',
  // Payment methods
  'method-unavailable': '{field} is not a payment method for a {kind}.',
  'method-not-manual': '{method} is not a manual payment method of the catalogue (PAYMENT_METHODS).',
  'instructions-repeated': '{field} must have one entry per payment method.',
  'instructions-length': 'The instructions for payment method {method} must have 1 to {most} characters.',
  'instructions-hidden-characters':
    'The instructions for payment method {method} must not contain characters that are not displayed as they are stored, such as control, invisible or direction-changing ones.',
} as const satisfies { readonly [rule: string]: string }

export type RuleName = keyof typeof ruleTexts
export type RuleValues = Readonly<Record<string, RuleValue>>
type NoValues = Readonly<Record<string, never>>
type NamesIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Exclude<Name, 'field'> | NamesIn<Rest>
  : never
type KindOf<Name> = Name extends keyof typeof kinds ? (typeof kinds)[Name] : 'text'
type ValuesNamed<Name extends string> = [Name] extends [never]
  ? [values?: NoValues]
  : [values: { readonly [Each in Name]: Kinds[KindOf<Each>] }]

/** The last argument of a function that takes a rule: the values that its text names, if it names any. */
export type ValueArguments<Rule extends string> = Rule extends RuleName
  ? ValuesNamed<NamesIn<(typeof ruleTexts)[Rule]>>
  : [values?: NoValues]

/** A rule that a command or a field violates, without a word of any language. */
export type Violation<Rule extends string = RuleName> = { readonly rule: Rule; readonly values: RuleValues }

export interface FieldViolation extends Violation {
  readonly field: string
}

export function violate<Rule extends RuleName>(rule: Rule, ...[values]: ValueArguments<Rule>): Violation<Rule> {
  return { rule, values: values ?? {} }
}

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
