import { readFileSync } from 'node:fs'
import t from 'tap'
import { eventSchemas, personalFieldsOf } from '../../src/event-store/event-codec.js'
import { knownVersions } from '../event-store/codec/golden-events.js'

/**
 * The fields that do not identify a customer. A new field fails this test until it is listed here, or is marked `Personal` or
 * `NotPersonal` in its schema. Personal fields are in docs/reference/events.md.
 */
const notPersonal = new Set([
  // Transfers and their ids.
  ...['trackingId', 'merchantId', 'kind', 'referenceId', 'channel', 'at', 'expiresAt', 'until', 'createdAt'],
  ...[
    'amountMinor',
    'transactionAmountMinor',
    'autoCancelledAmountMinor',
    'receivedAmountMinor',
    'returnedAmountMinor',
  ],
  ...['correctedAmountMinor', 'previousAmountMinor', 'receivedAmountChangeMinor', 'openUntil'],
  ...['reasonCode', 'callbackOnMoney'],
  // A payment of a statement, without its counterparty, and the account of the operator.
  ...['accountId', 'date', 'entryId', 'paymentId', 'importId', 'family', 'direction', 'isReversal', 'currency'],
  ...[
    'bookedAmountMinor',
    'paidAmountMinor',
    'usedAmountMinor',
    'explainedAmountMinor',
    'supersededAmountMinor',
    'entryKind',
    'fileId',
  ],
  ...['paymentCount', 'entryReference', 'personId', 'isReturn', 'returnReasonCode', 'wasExplained', 'rule'],
  ...['endToEndMac', 'accountMac', 'textMac', 'explanation', 'statementId', 'number', 'firstDate', 'lastDate'],
  ...['opening', 'closing', 'creditMinor', 'debitMinor', 'entries', 'newEntries', 'pendingEntries'],
  'payingAccountId',
  // The bank's answer about a transfer, without its words.
  ...['bankPaymentId', 'effect', 'matchedAmountMinor', 'bookedOn', 'bankReference', 'bankReasonCode'],
  ...['resolvedAmountMinor', 'approvedAmountMinor', 'collectedAmountMinor', 'amountTexts'],
  // Refunds.
  ...['refundId', 'refundReferenceId', 'refundAmountMinor', 'refundMethod', 'refundOf', 'bookedAmountMinor'],
  ...['to', 'needsApproval', 'repaymentId', 'repaymentReferenceId', 'repaymentAmountMinor', 'repaymentMethod'],
  'repaymentOf',
  // The URL of a receipt contains no personal data, and an erasure deletes the file.
  'receiptUrl',
  // Texts about a transfer remain, because they explain what happened to the money.
  ...['message', 'reason', 'payload', 'description', 'reference'],
  // The operator's staff are not customers.
  ...['by', 'proposedBy'],
  // Ids, names and secrets that do not belong to customers.
  ...['webhookId', 'challengeId', 'hashId', 'keyId', 'erasureId', 'eventId', 'eventType', 'stream', 'event', 'problem'],
  ...['apiKeySha256', 'secretKey', 'webhookSecret', 'passwordHash', 'secret', 'emailMac', 'device', 'outcome'],
  ...[
    'validUntil',
    'previousValidUntil',
    'nextAttemptAt',
    'dueAt',
    'since',
    'role',
    'scopes',
    'merchantIds',
    'trackingIds',
  ],
  ...[
    'settings',
    'changes',
    'withdrawalLimits',
    'approvalOverDay',
    'exceeded',
    'secretKeys',
    'previousWebhookSecret',
    'secondFactor',
    'sealed',
  ],
  ...['place', 'leafIndex', 'treeSize', 'treeId', 'origin', 'size', 'root', 'after', 'through', 'streams'],
  ...['messageId', 'format', 'sha256'],
  // A disclosure contains the names of fields, but not their values.
  ...['requestId', 'disclose'],
  ...['backupCreatedAt', 'restoredAt', 'events', 'lastEventAt', 'lostEvents'],
  // Keyed digests, which no one can compare with a customer without the key.
  ...['accountMac', 'customerMac'],
  // Numbers.
  ...[
    'attempt',
    'transferRevision',
    'httpStatus',
    'durationMs',
    'collection',
    'failure',
    'number',
    'revision',
    'position',
  ],
  ...['codeCounter', 'codeDigest', 'codeDigests', 'transfers', 'approvalAboveMinor', 'currency', 'decimals'],
])

/** Fields with the same names in events that do not concern customers. */
const notPersonalIn: { readonly [type: string]: readonly string[] } = {
  // Users of the dashboard are staff. Their email address is encrypted with the master key.
  ...Object.fromEntries(
    Object.keys(eventSchemas)
      .filter((type) => type.startsWith('User'))
      .map((type) => [type, ['userId', 'email', 'name']]),
  ),
  // The name of a key.
  ApiKeyCreated: ['name'],
  // Accounts of the built-in wallet belong to their owners. Email address and phone number are encrypted with the master key.
  WalletAccountOpened: ['accountNumber', 'email', 'phone'],
  WalletAccountCredited: ['accountNumber'],
  WalletAccountDebited: ['accountNumber'],
  WalletDebitRefused: ['accountNumber'],
  WalletDeviceTrusted: ['accountNumber'],
  WalletContactResealed: ['accountNumber', 'email', 'phone'],
  WalletEmailReserved: ['accountNumber'],
}

t.test('every field of every event is declared as personal or not personal', async (t) => {
  for (const { type, version, schema } of knownVersions) {
    const personal = new Set(personalFieldsOf(type, version).map(({ name }) => name))
    for (const [name, field] of Object.entries(schema.properties)) {
      if (field.type === 'boolean') continue
      const isDeclared =
        field.personal === false || notPersonal.has(name) || notPersonalIn[type]?.includes(name) === true
      t.ok(
        isDeclared !== personal.has(name),
        `${name} of ${type}.v${version} is either Personal in its schema or listed in this test as not personal`,
      )
    }
  }
})

t.test('the reference of events lists the personal fields and their erased forms, and no others', async (t) => {
  const page = readFileSync(new URL('../../../docs/reference/events.md', import.meta.url), 'utf8')
  const rows = page.matchAll(/^\| ([a-z]\w+(?:, \w+)*) \| ([A-Z]\w+(?:, \w+)*) \| `(.+)` \|$/gm)
  const listed = [...rows].flatMap(([, fields, types, erased]) =>
    types!.split(', ').flatMap((type) => fields!.split(', ').map((field) => `${type} ${field}: ${erased}`)),
  )
  const marked = new Set(
    knownVersions.flatMap(({ type, version }) =>
      personalFieldsOf(type, version).map(({ name, erased }) => `${type} ${name}: ${JSON.stringify(erased)}`),
    ),
  )
  t.strictSame(
    listed.sort(),
    [...marked].sort(),
    'the table in docs/reference/events.md has a row for each personal field',
  )
})
