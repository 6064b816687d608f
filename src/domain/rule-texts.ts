import { bankFileRules } from './bank/bank-file-rules.js'
import { fieldRules } from './field-rules.js'
import { merchantRules } from './merchant/merchant-rules.js'
import { transferRules } from './transfer/transfer-rules.js'
import { userRules } from './user/user-rules.js'

/**
 * Every rule that can reject a command or a field of a request, with its English text. `{field}` is the field that violates the rule, every
 * other name a value of the rule. The rules of HTTP bodies are here as well, so that one type names every rule.
 */
export const ruleTexts = {
  ...transferRules,
  // Callbacks
  'unknown-callback': 'Callback not found.',
  'resent-too-often': 'This callback was resent just now. Wait a moment.',
  ...merchantRules,
  ...userRules,
  // Wallet accounts
  'unknown-account': 'Wallet account not found.',
  'account-exists': 'A wallet account with this number already exists.',
  'balance-too-large': 'The balance would be too large.',
  'reference-credited': 'A different amount was already credited under this reference.',
  // Events
  'unknown-stream': '{stream} is not a stream of the service.',
  'unknown-event': 'Event {stream}@{revision} not found.',
  'event-readable': 'The event can be read. Only an unreadable event can be skipped.',
  'not-verified': 'The log and its tree disagree about this, so nothing can be proven: {problem}',
  'transfers-open': 'These transfers of the customer have not ended yet: {trackingIds}',
  'unknown-disclosure': 'Request to disclose personal data not found.',
  'disclosure-decided': 'The request was already approved or rejected.',
  'disclosure-four-eyes': 'A disclosure cannot be requested and approved by the same person.',
  'disclosure-not-approved': 'Another person must first approve that this personal data is disclosed.',
  'disclosure-erased': "The customer's data was erased, so it cannot be disclosed.",
  ...bankFileRules,
  // Projections
  'projection-busy': 'The projection {projection} is busy: the task {task} has not ended.',
  'nothing-built': 'Nothing to switch to: no new version is built.',
  'nothing-kept': 'Nothing to roll back to: no version from before the last switch is kept.',
  'nothing-to-cancel': 'Nothing to cancel: no task is in progress.',
  // Requests
  'scope-missing': 'This requires the scope {scope}.',
  'not-utf8': 'The body is not valid UTF-8.',
  'not-json': 'The body is not valid JSON.',
  'nested-too-deeply': 'The JSON is nested deeper than {most} levels.',
  'key-not-allowed': 'The key {key} is not allowed.',
  'key-repeated': 'The key {key} appears twice.',
  'body-too-large': 'The request is larger than {kibibytes} KiB.',
  ...fieldRules,
} as const satisfies { readonly [rule: string]: string }
