import { type Refusal, violate } from '../domain/decider.js'
import { ruleTexts } from '../domain/rule-texts.js'
import { type Change, kindOf, type RuleValue } from '../domain/rule-values.js'
import type { FieldViolation, RuleName, ValueArguments, Violation } from '../domain/rules.js'
import type { RequestSecurityEvent } from '../security/security-log.js'

/** The refusals of the merchant API and the payment page only. They include a wallet's reasons (WalletFailureReason). */
const merchantRefusals = {
  'device-pending': refusal(
    20001,
    'The customer has not confirmed the device yet. The customer has received an email about it.',
  ),
  'payment-pending': refusal(20002, 'The payment is in progress. Try again in a moment.'),
  'hash-mismatch': refusal(40003, 'The hashCode does not match.', 'security.hash_wrong'),
  'signature-mismatch': refusal(40004, 'The X-Signature is missing or does not match.', 'security.signature_wrong'),
  'bad-login': refusal(40006, 'The account does not exist or the password is wrong.', 'security.login_failed'),
  'bad-token': refusal(40007, 'The token is not valid for this step of this transfer.', 'security.token_refused'),
  'expired-token': refusal(40008, 'The token has expired. Log in again.'),
  'used-token': refusal(40009, 'The token was already used. Log in again.', 'security.token_refused'),
  'wrong-code': refusal(40010, ruleTexts['wrong-code'], 'security.code_wrong'),
  'too-many-codes': refusal(40011, 'Too many wrong codes for this login. Log in again.', 'security.code_wrong'),
  'unknown-key': refusal(40101, 'The WebApiKey is missing or unknown.', 'security.key_unknown'),
  'address-not-allowed': refusal(40301, 'This address is not on the allow-list.', 'security.address_refused'),
  'merchant-suspended': refusal(40302, 'The merchant is suspended.', 'security.merchant_suspended'),
  'scope-missing': refusal(40304, 'The WebApiKey lacks the required scope.', 'security.scope_missing'),
  'method-not-allowed': refusal(40501, 'This address does not allow this method.'),
  'request-timeout': refusal(40801, 'The request took too long to arrive.'),
  'reference-reused': refusal(40901, ruleTexts['reference-reused']),
  'hash-reused': refusal(40902, ruleTexts['hash-reused'], 'security.hash_reused'),
  'not-payable': refusal(40903, 'This transfer cannot be paid from a wallet.'),
  'expired-deposit': refusal(40904, 'The deposit has expired.'),
  'payment-under-way': refusal(40905, 'The payment is in progress. Try again in a moment.'),
  'insufficient-balance': refusal(40906, 'The balance of the account is too small.'),
  'account-blocked': refusal(40907, 'The account is blocked.'),
  'manual-control': refusal(40908, 'The deposit needs manual review. A callback will follow.'),
  'too-many-logins': refusal(40909, 'Too many logins for this deposit. Create another deposit.', 'security.throttled'),
  'manual-method': refusal(40910, 'The payment method of this deposit is not paid from a wallet.'),
  'codes-locked': refusal(42903, 'Too many wrong codes for this account. Try again later.', 'security.throttled'),
  'headers-too-large': refusal(43101, 'The headers are too large.'),
  'wallet-unavailable': refusal(50302, 'The wallet is unavailable. No money was taken.'),
}

/** The refusals that the dashboard shares. web/dashboard/rule-texts.ts gives them to the pages. */
export const commonRefusals = {
  'invalid-request': refusal(40001, 'Invalid request.'),
  'malformed-body': refusal(40002, 'The body cannot be parsed.'),
  'malformed-request': refusal(40005, 'The request cannot be parsed.'),
  'sign-in-wrong': refusal(40012, 'The email address, the password or the code is wrong.', 'security.sign_in_failed'),
  'code-used': refusal(40013, ruleTexts['code-used'], 'security.sign_in_failed'),
  'not-signed-in': refusal(40102, 'You are not signed in. Sign in to continue.'),
  'second-factor-needed': refusal(40103, 'Also enter the code of your authenticator app, or a recovery code.'),
  'cross-site': refusal(40303, 'This request comes from a page of another site.', 'security.cross_site'),
  csrf: refusal(40305, 'The X-CSRF-Token is missing or wrong.', 'security.csrf'),
  'permission-missing': refusal(40306, 'Your role lacks the required permission.', 'security.permission_missing'),
  'recent-sign-in-needed': refusal(40307, 'This requires your password again. Nothing was changed.'),
  'password-change-needed': refusal(40308, 'Choose your own password first.'),
  'sandbox-only': refusal(40309, 'Only sandbox merchants can do this.'),
  'unknown-route': refusal(40401, 'Nothing exists at this address.'),
  'unknown-transfer': refusal(40402, ruleTexts['unknown-transfer']),
  'unknown-callback': refusal(40403, ruleTexts['unknown-callback']),
  'unknown-user': refusal(40404, ruleTexts['unknown-user']),
  'unknown-merchant': refusal(40405, ruleTexts['unknown-merchant']),
  'unknown-projection': refusal(40411, 'Projection not found.'),
  'unknown-event': refusal(40412, 'Event not found.'),
  'unknown-bank-account': refusal(40413, 'No statement of this account was imported, or you do not see it.'),
  'unknown-bank-payment': refusal(40414, ruleTexts['bank-payment-unknown']),
  'unknown-disclosure': refusal(40415, ruleTexts['unknown-disclosure']),
  'unknown-customer': refusal(40421, 'Customer not found.'),
  'changed-meanwhile': refusal(40911, 'This has changed since the given revision. Nothing was done.'),
  'user-conflict': refusal(40912, 'This is not possible for this user.'),
  'merchant-conflict': refusal(40913, 'This is not possible for this merchant.'),
  'transfers-open': refusal(40914, 'Transfers of this customer have not ended yet.'),
  'claimed-by-another': refusal(40921, 'Another user has claimed this withdrawal.'),
  'claim-needed': refusal(40922, ruleTexts['claim-needed']),
  'claim-expired': refusal(40923, 'Your claim of this withdrawal has expired.'),
  'approval-needed': refusal(40924, 'Another user must approve this payment first.'),
  'four-eyes': refusal(40925, ruleTexts['four-eyes']),
  'not-possible': refusal(40926, 'The transfer does not allow this now. Review its current state.'),
  'payouts-stopped': refusal(40927, ruleTexts['payouts-stopped']),
  'not-sealed': refusal(40928, 'No checkpoint covers this transfer yet. Try again in a minute.'),
  'not-verified': refusal(40929, 'The log and its tree disagree, so nothing can be proven.'),
  'held-in-bank-file': refusal(40933, 'Another user has put this withdrawal into a bank file.'),
  'done-before': refusal(40934, 'This was already done by another request.'),
  'projection-conflict': refusal(40931, 'This is not possible for the projection now.'),
  'event-readable': refusal(40932, ruleTexts['event-readable']),
  'disclosure-conflict': refusal(40935, 'This is not possible for this disclosure.'),
  'body-too-large': refusal(41301, 'The body is too large.'),
  'receipt-too-large': refusal(41302, 'A receipt can have at most 5 MB.'),
  'bank-file-too-large': refusal(
    41303,
    'A bank file can have at most 32 MB here. Use the command line or the watched directory.',
  ),
  'unsupported-media-type': refusal(41501, 'Send application/json or application/json-patch+json.'),
  'no-receipt': refusal(41502, 'A receipt must be a PDF, PNG or JPEG file.'),
  'no-bank-file': refusal(41503, 'Send the file of the bank as application/octet-stream.'),
  'bank-file-unreadable': refusal(42201, 'The file of the bank cannot be read.'),
  'too-many-requests': refusal(42901, 'Too many requests. Wait a moment and try again.', 'security.throttled'),
  'login-throttled': refusal(
    42902,
    'Too many logins to this account. Wait a while and try again.',
    'security.throttled',
  ),
  'resent-too-often': refusal(42904, ruleTexts['resent-too-often'], 'security.throttled'),
  internal: refusal(50001, 'Internal error.'),
  'receipt-damaged': refusal(50002, 'The stored receipt was changed, so it is not sent. Contact the operator.'),
  unavailable: refusal(50301, 'The service is temporarily unavailable. Try again in a moment.'),
  unreadable: refusal(50303, 'A record is unreadable. Contact the operator.'),
  'merchant-out-of-service': refusal(50304, 'A record of this merchant is unreadable. Contact the operator.'),
}

/**
 * Every refusal of a request: the stable `error.code` of the envelope (the HTTP status × 100 plus a number), its message, and its event
 * in the security log, if any. If the rule of the same name has values, the message is a text without values, which callers can compare and
 * count, and `error.details` is the text of the rule. docs/reference/errors.md explains each; a test compares the two.
 */
export const refusals = { ...merchantRefusals, ...commonRefusals }

export type RefusalName = keyof typeof refusals
export type CommonRefusalName = keyof typeof commonRefusals

function refusal(code: number, message: string, securityEvent?: RequestSecurityEvent) {
  return { code, status: Math.floor(code / 100), message, securityEvent }
}

/** A field of the request and the rule that it violates. */
export interface InvalidField extends FieldViolation {
  /** The item of a batch that the violation is about, by the name that its reader knows. */
  readonly subject?: string
}

interface Particulars {
  /** Replaces the text of `violation`. */
  readonly details?: string
  /** The rule that explains the refusal. */
  readonly violation?: Violation
  readonly fields?: readonly InvalidField[]
  readonly retryAfterSeconds?: number
}

/** A request that is rejected as documented. Every other error while serving a request becomes a 500 or a 503. */
export class RequestError extends Error {
  override readonly name = 'RequestError'

  constructor(
    readonly refusal: RefusalName,
    readonly particulars: Particulars = {},
  ) {
    super(refusals[refusal].message)
  }
}

/** Returns the error for one invalid field or query parameter. */
export function invalid<Rule extends RuleName>(
  field: string,
  rule: Rule,
  ...values: ValueArguments<Rule>
): RequestError {
  return invalidFields([{ field, ...violate(rule, ...values) }])
}

export function invalidFields(fields: readonly InvalidField[]): RequestError {
  return new RequestError('invalid-request', { fields })
}

type Decided = { readonly accepted: true } | { readonly accepted: false; readonly refusal: Refusal }

/** The refusals for rules without a separate code, by the subject of the command. */
const conflicts = {
  user: 'user-conflict',
  merchant: 'merchant-conflict',
  transfer: 'not-possible',
  event: 'event-readable',
  disclosure: 'disclosure-conflict',
} as const satisfies { readonly [subject: string]: RefusalName }

/** The refusals for rules that a caller handles like another one. */
const sameCodes: { readonly [rule: string]: RefusalName } = { 'limit-exceeded': 'approval-needed' }

/** Returns the accepted result. `nameOf` returns the name under which the caller knows an actor. @throws RequestError */
export function accepted<Result extends Decided>(
  subject: keyof typeof conflicts,
  result: Result,
  nameOf = (actor: string) => actor,
): Extract<Result, { readonly accepted: true }> {
  if (result.accepted) return result as Extract<Result, { readonly accepted: true }>
  const { reason, field, ...unnamed } = result.refusal
  const violation = withNames(unnamed, nameOf)
  if (field !== undefined) throw invalidFields([{ field, ...violation }])
  const names: { readonly [name: string]: unknown } = refusals
  const same = sameCodes[violation.rule]
  if (same) throw new RequestError(same, { violation })
  if (violation.rule in names) throw new RequestError(violation.rule as RefusalName, { violation })
  throw new RequestError(reason === 'not-found' ? `unknown-${subject}` : conflicts[subject], { violation })
}

/** Replaces the actors among the values with the names under which the caller knows them. */
export function withNames({ rule, values }: Violation, nameOf: (actor: string) => string): Violation {
  const named = ([name, value]: [string, RuleValue]): [string, RuleValue] => {
    if (kindOf(name) === 'actor') return [name, nameOf(value as string)]
    if (kindOf(name) !== 'changes') return [name, value]
    return [name, (value as readonly Change[]).map((change) => ({ ...change, by: nameOf(change.by) }))]
  }
  return { rule, values: Object.fromEntries(Object.entries(values).map(named)) }
}
