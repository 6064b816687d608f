import { readFileSync } from 'node:fs'
import t from 'tap'
import { eventSchemas } from '../../src/event-store/event-schemas.js'
import { personalFieldsOf } from '../../src/event-store/personal-fields.js'
import { knownVersions } from '../event-store/codec/golden-events.js'

/**
 * The fields that do not tell who a customer is. A new field fails this test until it is listed here, or is marked `Personal` in its
 * schema and listed in docs/reference/events.md.
 */
const notPersonal = new Set([
  // Of transfers, and what names them.
  ...['trackingId', 'merchantId', 'kind', 'referenceId', 'channel', 'at', 'expiresAt', 'until', 'createdAt'],
  ...[
    'amountMinor',
    'transactionAmountMinor',
    'autoCancelledAmountMinor',
    'receivedAmountMinor',
    'returnedAmountMinor',
  ],
  ...['resolvedAmountMinor', 'approvedAmountMinor', 'collectedAmountMinor', 'amountText', 'paymentMethod'],
  // Where proof of a payment is: the address says nothing, and the file goes with the customer.
  'receiptUrl',
  // What people write about a transfer, and why they did what they did: it stays, as it accounts for money.
  ...['message', 'reason', 'payload', 'description', 'reference'],
  // Who works here: staff are no customers.
  'by',
  // Names of things.
  ...['webhookId', 'challengeId', 'hashId', 'keyId', 'erasureId', 'eventId', 'eventType', 'stream', 'event', 'problem'],
  ...['apiKeySha256', 'secretKey', 'webhookSecret', 'passwordHash', 'secret', 'emailMac', 'device', 'outcome'],
  ...['validUntil', 'previousValidUntil', 'nextAttemptAt', 'since', 'role', 'scopes', 'merchantIds', 'trackingIds'],
  ...['settings', 'changes', 'secretKeys', 'previousWebhookSecret', 'secondFactor', 'sealed'],
  ...['place', 'leafIndex', 'treeSize', 'after', 'through', 'streams'],
  // Counts and the like.
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
  ...['codeCounter', 'transfers'],
])

/** The same names in events about somebody else. */
const notPersonalIn: { readonly [type: string]: readonly string[] } = {
  // Who signs in to the dashboard works here; the e-mail is sealed by the master key.
  ...Object.fromEntries(
    Object.keys(eventSchemas)
      .filter((type) => type.startsWith('User'))
      .map((type) => [type, ['userId', 'email', 'name']]),
  ),
  // Of a key.
  ApiKeyCreated: ['name'],
  // The built-in wallet's own accounts belong to those who opened them there; e-mail and phone are sealed by the master key.
  WalletAccountOpened: ['accountNumber', 'email', 'phone'],
  WalletAccountCredited: ['accountNumber'],
  WalletAccountDebited: ['accountNumber'],
  WalletDebitRefused: ['accountNumber'],
  WalletDeviceTrusted: ['accountNumber'],
  WalletContactResealed: ['accountNumber', 'email', 'phone'],
  WalletEmailReserved: ['accountNumber'],
}

t.test('of every field of every event somebody has said whether it is personal', async (t) => {
  for (const { type, version, schema } of knownVersions) {
    const personal = new Set(personalFieldsOf(type, version).map(({ name }) => name))
    for (const [name, field] of Object.entries(schema.properties)) {
      if (field.type === 'boolean') continue
      const said = notPersonal.has(name) || notPersonalIn[type]?.includes(name) === true
      t.not(said, personal.has(name), `${type}.v${version} ${name}`)
    }
  }
})

t.test('the reference of events lists the personal fields, and no others', async (t) => {
  const page = readFileSync(new URL('../../../docs/reference/events.md', import.meta.url), 'utf8')
  const listed = [...page.matchAll(/^\| ([A-Z]\w+) \| ([a-z]\w+(?:, \w+)*) \|$/gm)].map(
    ([, type, names]) => `${type}: ${names}`,
  )
  const marked = new Set(
    knownVersions.flatMap(({ type, version }) => {
      const names = personalFieldsOf(type, version).map(({ name }) => name)
      return names.length === 0 ? [] : [`${type}: ${names.join(', ')}`]
    }),
  )
  t.strictSame(listed, [...marked])
})
