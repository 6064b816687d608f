import { refusalText } from '../commands/refusal-texts.js'
import type { Refusal } from '../kernel/decision.js'
import { type Change, type RuleValue, rules, type ValueKind, type Violation } from '../kernel/rules.js'
import type { RequestSecurityEvent } from '../security/security-log.js'

/**
 * Every way a request can be refused, in one place: the stable `error.code` of the envelope (HTTP status × 100 and a number), its
 * message, and its event in the security log where it has one. A wallet's reasons (WalletFailureReason) are names here.
 * docs/reference/errors.md explains each; a test compares the two.
 */
export const refusals = {
  'device-pending': answer(20001, 'The customer has not confirmed the device yet.'),
  'payment-pending': answer(20002, 'The payment is being carried out.'),
  'invalid-request': answer(40001, 'The request is not valid.'),
  'malformed-body': answer(40002, 'The body cannot be read.'),
  'hash-mismatch': answer(40003, 'The hashCode does not match.', 'security.hash_wrong'),
  'signature-mismatch': answer(40004, 'The X-Signature is missing or does not match.', 'security.signature_wrong'),
  'malformed-request': answer(40005, 'The request cannot be read.'),
  'bad-login': answer(40006, 'The account does not exist or the password is wrong.', 'security.login_failed'),
  'bad-token': answer(40007, 'The token is not valid for this step of this transfer.', 'security.token_refused'),
  'expired-token': answer(40008, 'The token has expired.'),
  'used-token': answer(40009, 'The token was used before.', 'security.token_refused'),
  'wrong-code': answer(40010, 'The code is wrong.', 'security.code_wrong'),
  'too-many-codes': answer(40011, 'There were too many codes for this log-in.', 'security.code_wrong'),
  'sign-in-wrong': answer(40012, 'The e-mail, the password or the code is wrong.', 'security.sign_in_failed'),
  'unknown-key': answer(40101, 'The WebApiKey is missing or unknown.', 'security.key_unknown'),
  'not-signed-in': answer(40102, 'Nobody is signed in, or no longer.'),
  'second-factor-needed': answer(40103, 'The code of the second factor is needed as well.'),
  'address-not-allowed': answer(40301, 'This address may not call.', 'security.address_refused'),
  'merchant-suspended': answer(40302, 'This merchant is suspended.', 'security.merchant_suspended'),
  'cross-site': answer(40303, 'A page of another site sent this.', 'security.cross_site'),
  'scope-missing': answer(40304, 'This WebApiKey is not for that.', 'security.scope_missing'),
  csrf: answer(40305, 'The X-CSRF-Token is missing or wrong.', 'security.csrf'),
  'permission-missing': answer(40306, 'Your role does not allow that.', 'security.permission_missing'),
  'recent-sign-in-needed': answer(40307, 'Give your password again for that.'),
  'password-change-needed': answer(40308, 'The first password must be changed before anything else.'),
  'unknown-route': answer(40401, 'There is nothing at this address.'),
  'unknown-transfer': answer(40402, 'There is no such transfer.'),
  'unknown-callback': answer(40403, 'There is no such callback.'),
  'unknown-user': answer(40404, 'There is no such user.'),
  'unknown-merchant': answer(40405, 'There is no such merchant.'),
  'unknown-projection': answer(40411, 'There is no such projection.'),
  'unknown-event': answer(40412, 'There is no such event.'),
  'unknown-customer': answer(40421, 'Nothing is known of such a customer.'),
  'method-not-allowed': answer(40501, 'This address does not take this method.'),
  'request-timeout': answer(40801, 'The request did not arrive in time.'),
  'reference-reused': answer(40901, 'This referenceId was used before, with other content.'),
  'hash-reused': answer(40902, 'This hashCode was used before, for another request.', 'security.hash_reused'),
  'not-payable': answer(40903, 'This transfer cannot be paid from a wallet.'),
  'expired-deposit': answer(40904, 'The time for this deposit is over.'),
  'payment-under-way': answer(40905, 'The payment is being carried out.'),
  'insufficient-balance': answer(40906, 'The balance of the account is too small.'),
  'account-blocked': answer(40907, 'The account is blocked.'),
  'manual-control': answer(40908, 'The deposit is being checked by a person.'),
  'too-many-logins': answer(40909, 'There were too many log-ins for this deposit.', 'security.throttled'),
  'manual-method': answer(40910, 'The payment method of this deposit is not paid from a wallet.'),
  'changed-meanwhile': answer(40911, 'It was changed meanwhile; look at it again.'),
  'user-conflict': answer(40912, 'That cannot be done to this user.'),
  'merchant-conflict': answer(40913, 'That cannot be done to this merchant.'),
  'transfers-open': answer(40914, 'Transfers of this customer are not over yet.'),
  'claimed-by-another': answer(40921, 'Somebody else is paying this withdrawal.'),
  'claim-needed': answer(40922, 'This withdrawal is not claimed by you.'),
  'claim-expired': answer(40923, 'Your claim of this withdrawal has ended.'),
  'approval-needed': answer(40924, 'Another person must approve this payment first.'),
  'four-eyes': answer(40925, 'Two people are needed for this withdrawal.'),
  'not-possible': answer(40926, 'The transfer does not allow this now.'),
  'payouts-stopped': answer(40927, 'Payouts are stopped: the log does not verify.'),
  'projection-conflict': answer(40931, 'That cannot be done to this projection now.'),
  'event-readable': answer(40932, 'The event can be read. Only an unreadable event can be skipped.'),
  'not-sealed': answer(40928, 'No checkpoint has this yet: one is signed every minute.'),
  'not-verified': answer(40929, 'The log and its tree do not agree, so nothing can be proven.'),
  'body-too-large': answer(41301, 'The body is larger than 16 KiB.'),
  'receipt-too-large': answer(41302, 'A receipt is at most 5 MB.'),
  'unsupported-media-type': answer(41501, 'Send application/json or application/json-patch+json.'),
  'no-receipt': answer(41502, 'A receipt is a PDF, a PNG or a JPEG.'),
  'too-many-requests': answer(42901, 'Too many requests.', 'security.throttled'),
  'login-throttled': answer(42902, 'Too many log-ins to this account.', 'security.throttled'),
  'codes-locked': answer(42903, 'Too many wrong codes for this account.', 'security.throttled'),
  'resent-too-often': answer(42904, 'This callback was sent again a moment ago.', 'security.throttled'),
  'headers-too-large': answer(43101, 'The headers are too large.'),
  internal: answer(50001, 'Something went wrong on our side.'),
  unavailable: answer(50301, 'The service cannot do this right now.'),
  'wallet-unavailable': answer(50302, 'The wallet cannot be reached; nothing was taken.'),
  unreadable: answer(50303, 'A record of this transfer cannot be read; an operator must look at it.'),
  'merchant-out-of-service': answer(
    50304,
    'A record of this merchant cannot be read; it is out of service until an operator has looked at it.',
  ),
}

export type RefusalName = keyof typeof refusals

function answer(code: number, message: string, securityEvent?: RequestSecurityEvent) {
  return { code, status: Math.floor(code / 100), message, securityEvent }
}

export interface ValidationError {
  readonly message: string
  /** JSON field names. */
  readonly members: readonly string[]
}

interface Particulars {
  readonly details?: string
  readonly validationErrors?: readonly ValidationError[]
  readonly retryAfterSeconds?: number
}

/** A request that is refused as documented; everything else that is thrown while serving one is a 500 or a 503. */
export class RequestError extends Error {
  override readonly name = 'RequestError'

  constructor(
    readonly refusal: RefusalName,
    readonly particulars: Particulars = {},
  ) {
    super(refusals[refusal].message)
  }
}

/** One field or query parameter that is wrong. `problem` goes on from its name, as in `must be 1`. */
export function invalid(name: string, problem: string): RequestError {
  return new RequestError('invalid-request', { validationErrors: [fieldProblem(name, problem)] })
}

export function fieldProblem(name: string, problem: string): ValidationError {
  return { message: `${name} ${problem}`, members: [name] }
}

type Decided = { readonly accepted: true } | { readonly accepted: false; readonly refusal: Refusal }

/** The refusals for the rules that have no code of their own, by what the command is about. */
const conflicts = {
  user: 'user-conflict',
  merchant: 'merchant-conflict',
  transfer: 'not-possible',
  event: 'event-readable',
} as const satisfies { readonly [subject: string]: RefusalName }

/** Returns the accepted result. `nameOf` returns the name under which the caller knows an actor. @throws RequestError */
export function accepted<Result extends Decided>(
  subject: keyof typeof conflicts,
  result: Result,
  nameOf = (actor: string) => actor,
): Extract<Result, { readonly accepted: true }> {
  if (result.accepted) return result as Extract<Result, { readonly accepted: true }>
  throw requestErrorOf(subject, result.refusal, nameOf)
}

export function requestErrorOf(
  subject: keyof typeof conflicts,
  { reason, field, ...unnamed }: Refusal,
  nameOf: (actor: string) => string,
): RequestError {
  const violation = withNames(unnamed, nameOf)
  const { rule, values } = violation
  if (field !== undefined) {
    return new RequestError('invalid-request', {
      validationErrors: [{ message: refusalText(violation, field), members: [field] }],
    })
  }
  const names: { readonly [name: string]: unknown } = refusals
  if (rule in names) {
    const hasValues = Object.keys(values).length > 0
    return new RequestError(rule as RefusalName, hasValues ? { details: refusalText(violation) } : {})
  }
  const refusal = reason === 'not-found' ? (`unknown-${subject}` as const) : conflicts[subject]
  return new RequestError(refusal, { details: refusalText(violation) })
}

/** Replaces the actors among the values with the names under which the caller knows them. */
export function withNames({ rule, values }: Violation, nameOf: (actor: string) => string): Violation {
  const kinds: { readonly [name: string]: ValueKind } = rules[rule]
  const named = ([name, value]: [string, RuleValue]): [string, RuleValue] => {
    if (kinds[name] === 'actor') return [name, nameOf(value as string)]
    if (kinds[name] !== 'changes') return [name, value]
    return [name, (value as readonly Change[]).map((change) => ({ ...change, by: nameOf(change.by) }))]
  }
  return { rule, values: Object.fromEntries(Object.entries(values).map(named)) }
}
