import { formatTwoDecimals } from '../domain/money.js'
import type { TransferEvent } from '../domain/transfer/transfer-events.js'
import { type Change, type RuleName, type RuleValue, rules, type ValueKind, type Violation } from '../kernel/rules.js'

/**
 * The text of every rule for the merchant API and the command line. `{field}` is the field that violates the rule, every other name
 * a value of the rule. The dashboard has its own texts in web/dashboard/texts.
 */
export const ruleTexts: { readonly [rule in RuleName]: string } = {
  'unknown-transfer': 'There is no such transfer.',
  'reference-reused': 'This referenceId was used before, with other content.',
  'hash-reused': 'This hashCode was used before, for another request.',
  'changed-meanwhile': '{changes}',
  'deposit-required': 'Only the money of a deposit is given back.',
  'withdrawal-required': 'Only a withdrawal is claimed and approved.',
  'status-final': 'The transfer is {status}, which is final.',
  'booking-final': 'The transfer is Completed with {booked}, which is final; {amount} cannot be booked instead.',
  'amount-needed': 'Nothing is left of what was received: to complete, name the amount.',
  'reason-needed': 'Of what was received {left} is left: another amount needs a reason.',
  'confirmation-needed':
    'The requested amount is {requested}: to complete with {amount}, give it as the confirmed amount, too.',
  'confirmation-differs': 'The confirmed amount is {confirmed} and not {amount}.',
  'receipt-reused': 'With this receipt {returned} was returned before.',
  'nothing-to-return': 'There is no money to give back.',
  'return-too-large': 'Only {left} is there to give back.',
  'not-reopenable': 'Only a cancelled or failed deposit can be reopened.',
  'payouts-stopped': 'Payouts are stopped, as the log does not verify: an administrator decides when they go on.',
  'claim-needed': 'To settle a withdrawal, claim it first.',
  'claim-expired': 'Your claim ended at {until}: claim it again before you go on.',
  'claimed-by-another': '{by} claimed it until {until}.',
  'claim-limit': 'It was claimed and approved {most} times: only the operator can settle it.',
  'four-eyes': 'Whoever claimed a withdrawal does not approve it.',
  'approval-needed': 'Somebody else must approve {amount} to this account before it is completed.',
  'approval-not-needed': 'This withdrawal needs no approval.',
  'already-paid': 'It is paid already.',
  'sepa-euros-only': 'A SEPA file holds euros, and this service has {currency}.',
  'sepa-amount-too-large': 'Its amount is above {most}.',
  'account-not-iban': 'Its account is no IBAN.',
  'unknown-callback': 'There is no such callback.',
  'resent-too-often': 'This callback was sent again a moment ago.',
  'unknown-merchant': 'There is no such merchant.',
  'merchant-exists': 'This merchant is registered already.',
  'api-key-unknown': 'There is no such key.',
  'api-key-name-taken': 'The merchant has a key of this name.',
  'too-many-api-keys': 'A merchant has at most {most} keys.',
  'time-passed': '{field} has passed already',
  'unknown-user': 'There is no such user.',
  'user-exists': 'This user exists already.',
  'user-disabled': 'The user is disabled.',
  'email-taken': 'This email is already in use.',
  'last-administrator': 'This is the last administrator: make another one first.',
  'second-factor-changed': 'The second factor has changed.',
  'code-used': 'The code was used before.',
  'wrong-code': 'The code is wrong.',
  'role-for-all-merchants': 'The role {role} is for all merchants.',
  'role-needs-merchants': 'The role {role} needs one or more merchants.',
  'unknown-account': 'There is no such wallet account.',
  'account-exists': 'There is a wallet account of this number already.',
  'balance-too-large': 'The balance would be too large.',
  'reference-credited': 'Another amount was credited under this reference.',
  'unknown-stream': '{stream} is no stream of the service.',
  'unknown-event': 'There is no event {stream}@{revision}.',
  'event-readable': 'The event can be read. Only an unreadable event can be skipped.',
  required: '{field} is required',
  'iban-invalid': 'The account that pays is no IBAN.',
  'bic-invalid': 'The BIC is none.',
  'email-invalid': 'The e-mail is not an e-mail address.',
  'visible-text': 'The {field} must be 1 to {most} characters, all of them visible.',
  'too-short': '{field} must have at least {least} characters',
  'too-long': '{field} must have at most {most} characters',
  'one-character': '{field} must not be one character again and again',
  'equals-email': '{field} must not be the e-mail',
  unchanged: '{field} must be another one',
}

const changeTexts: { readonly [type in TransferEvent['type']]: string } = {
  DepositCreated: 'created it',
  WithdrawalCreated: 'created it',
  TransferCompleted: 'completed it',
  TransferSentToManualControl: 'sent it to manual control',
  TransferCancelled: 'cancelled it',
  TransferFailed: 'said that it failed',
  LateFundsReceived: 'recorded money',
  FundsReturned: 'returned money',
  AttentionResolved: 'resolved it',
  TransferReopened: 'reopened it',
  WithdrawalClaimed: 'claimed it',
  WithdrawalReleased: 'released it',
  WithdrawalApproved: 'approved it',
  PersonalDataErased: 'erased its customer',
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
  if (changes.length === 0) return 'There is no such revision of it yet.'
  return changes.map(({ type, by, at }) => `${by} ${changeTexts[type as TransferEvent['type']]} at ${at}.`).join(' ')
}
