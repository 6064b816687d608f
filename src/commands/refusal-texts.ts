import { formatTwoDecimals } from '../domain/money.js'
import type { TransferEvent } from '../domain/transfer/transfer-events.js'
import { type Change, type RuleName, type RuleValue, rules, type ValueKind, type Violation } from '../kernel/rules.js'

/**
 * The text of every rule for the merchant API and the command line. `{field}` is the field that violates the rule, every other name
 * a value of the rule. The dashboard has its own texts in web/dashboard/texts.
 */
export const ruleTexts: { readonly [rule in RuleName]: string } = {
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
  'payouts-stopped': 'Payouts are stopped because the log does not verify. An administrator must resume them.',
  'claim-needed': 'Claim the withdrawal before you settle it.',
  'claim-expired': 'Your claim expired at {until}. Claim the withdrawal again.',
  'claimed-by-another': '{by} has claimed the withdrawal until {until}.',
  'claim-limit': 'The withdrawal was claimed and approved {most} times. Only the operator can settle it now.',
  'four-eyes': 'A withdrawal cannot be approved and paid by the same user.',
  'approval-needed': 'Another user must first approve a payment of {amount} to this account.',
  'approval-not-needed': 'This withdrawal needs no approval.',
  'already-paid': 'The withdrawal is already paid.',
  'sepa-euros-only': 'A SEPA file contains euros, but the currency of the service is {currency}.',
  'sepa-amount-too-large': 'The amount is above {most}, the largest SEPA payment.',
  'account-not-iban': 'The account number is not a valid IBAN.',
  'unknown-callback': 'Callback not found.',
  'resent-too-often': 'This callback was resent just now.',
  'unknown-merchant': 'Merchant not found.',
  'merchant-exists': 'This merchant already exists.',
  'api-key-unknown': 'API key not found.',
  'api-key-name-taken': 'The merchant already has a key with this name.',
  'too-many-api-keys': 'A merchant can have at most {most} keys.',
  'unknown-user': 'User not found.',
  'user-exists': 'This user already exists.',
  'user-disabled': 'The user is disabled.',
  'email-taken': 'This email is already in use.',
  'last-administrator': 'This is the last administrator. Create another administrator first.',
  'second-factor-changed': 'The second factor has changed.',
  'code-used': 'The code was already used.',
  'wrong-code': 'Wrong code.',
  'role-for-all-merchants': 'The role {role} applies to all merchants, so name none.',
  'role-needs-merchants': 'The role {role} requires one or more merchants.',
  'unknown-account': 'Wallet account not found.',
  'account-exists': 'A wallet account with this number already exists.',
  'balance-too-large': 'The balance would be too large.',
  'reference-credited': 'A different amount was already credited under this reference.',
  'unknown-stream': '{stream} is not a stream of the service.',
  'unknown-event': 'Event {stream}@{revision} not found.',
  'event-readable': 'The event can be read. Only an unreadable event can be skipped.',
  'projection-busy': 'The projection {projection} is busy: the task {task} has not ended.',
  'nothing-built': 'Nothing to switch to: no new version is built.',
  'nothing-kept': 'Nothing to roll back to: no version from before the last switch is kept.',
  'nothing-to-cancel': 'Nothing to cancel: no task is in progress.',
  'permission-missing': 'This requires the permission {permission}.',
  'scope-missing': 'This requires the scope {scope}.',
  'not-verified': '{problem}',
  'offer-missing': 'The offered second factor has expired. Start again.',
  'transfers-open': 'Open transfers: {trackingIds}.',
  'too-many-open': 'You can have at most {most} of these open at the same time.',
  'receipt-quota': 'Each user can upload {megabytes} MB of receipts per day.',
  'not-utf8': 'The body is not valid UTF-8.',
  'not-json': 'The body is not valid JSON.',
  'nested-too-deeply': 'The JSON is nested deeper than {most} levels.',
  'key-not-allowed': 'The key {key} is not allowed.',
  'key-repeated': 'The key {key} appears twice.',
  'body-too-large': 'The body is larger than 16 KiB.',
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
  blank: '{field} must not be blank.',
  'hidden-characters': '{field} must not contain control, invisible or direction-changing characters.',
  'control-characters': '{field} must not contain control characters.',
  'blank-or-control-characters': '{field} must not be blank or contain control characters.',
  'too-short': '{field} must have at least {least} characters.',
  'too-long': '{field} must have at most {most} characters.',
  'text-length': '{field} must have 1 to {most} characters.',
  'one-character': '{field} must not repeat a single character.',
  'equals-email': '{field} must not be the email.',
  unchanged: '{field} must be different from the current one.',
  'email-invalid': '{field} must be an email address.',
  'iban-invalid': '{field} must be a valid IBAN.',
  'bic-invalid': '{field} must be a valid BIC of 8 or 11 characters.',
  'api-key-name-invalid': '{field} must have 1 to {most} of the characters A-Z a-z 0-9 . _ -',
  above: '{field} must be greater than {limit}.',
  'too-small': '{field} must be at least {least}.',
  'too-large': '{field} must be at most {most}.',
  'whole-number': '{field} must be an integer from {least} to {most}.',
  'too-few-items': '{field} must have at least {least} entries.',
  'too-many-items': '{field} must have at most {most} entries.',
  'amount-invalid': '{field} must be a plain number greater than 0 with at most two decimals.',
  'amount-too-large': '{field} must be at most {most}.',
  'amount-out-of-range': '{field} must be from {least} to {most}.',
  'whole-amount': '{field} must be a whole amount because {currency} has no decimals.',
  'min-above-max': 'The minimum amount must not be greater than the maximum amount.',
  'time-invalid': '{field} must be an ISO 8601 date, or a time with a time zone.',
  'time-passed': '{field} must be in the future.',
  'not-after': '{field} must be after {other}.',
  'range-too-long': 'The range must not be longer than {days} days.',
  'cursor-invalid': '{field} must be the cursor of an earlier response.',
  'event-not-found': '{field} names an event that is not in the log. Start again without it.',
  'time-or-position': '{field} must be an ISO 8601 time or a position in the log.',
  'position-invalid': '{field} must be a position in the log.',
  'merchant-day-invalid': '{field} must be a merchantId or <merchantId>/<day>.',
  'order-unavailable': '{field} must be one of: {allowed} when combined with {other}.',
  'url-invalid': '{field} must be a valid URL.',
  'url-not-https': '{field} must start with https://.',
  'url-not-http': '{field} must be an http or https URL.',
  'url-with-credentials': '{field} must not contain a user name or password.',
  'url-not-public': '{field} must lead to a public address.',
  'origin-invalid':
    '{field} must contain only origins such as https://shop.example.com, in lower case and without a path.',
  'ip-range-invalid': '{range} is not an IP address or CIDR range.',
  'method-unavailable': '{field} is not a payment method for a {kind}.',
  'method-not-manual': '{method} is not a manual payment method of the catalogue (PAYMENT_METHODS).',
  'instructions-repeated': '{field} must have one entry per payment method.',
  'instructions-length': 'The instructions for payment method {method} must have 1 to {most} characters.',
  'instructions-hidden-characters':
    'The instructions for payment method {method} must not contain control, invisible or direction-changing characters.',
}

/** The text of a change of a transfer, by the type of the event. */
export const changeTexts: { readonly [type in TransferEvent['type']]: string } = {
  DepositCreated: 'created it',
  WithdrawalCreated: 'created it',
  TransferCompleted: 'completed it',
  TransferSentToManualControl: 'sent it to manual control',
  TransferCancelled: 'cancelled it',
  TransferFailed: 'marked it as failed',
  LateFundsReceived: 'recorded received money',
  FundsReturned: 'recorded a return',
  AttentionResolved: 'resolved it',
  TransferReopened: 'reopened it',
  WithdrawalClaimed: 'claimed it',
  WithdrawalReleased: 'released it',
  WithdrawalApproved: 'approved it',
  PersonalDataErased: "erased its customer's data",
}

/** Returns the text of a violated rule in English. `field` is the name under which the reader knows the field. */
export function refusalText({ rule, values }: Violation, field = 'It'): string {
  const kinds: { readonly [name: string]: ValueKind } = rules[rule]
  return ruleTexts[rule].replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const kind = kinds[name]
    return kind === undefined ? field : valueText(kind, values[name]!)
  })
}

function valueText(kind: ValueKind, value: RuleValue): string {
  if (kind === 'amount') return formatTwoDecimals(value as bigint)
  return kind === 'changes' ? changesText(value as readonly Change[]) : String(value)
}

function changesText(changes: readonly Change[]): string {
  if (changes.length === 0) return 'The given revision does not exist yet.'
  return changes.map(({ type, by, at }) => `${by} ${changeTexts[type as TransferEvent['type']]} at ${at}.`).join(' ')
}
