import t from 'tap'
import { MerchantCommands, secretOwner } from '../../src/commands/merchant/merchant-commands.js'
import { merchantStream } from '../../src/domain/streams.js'
import { digestApiKey, findByApiKey } from '../../src/security/api-keys.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { settings } from '../domain/merchant-samples.js'
import { context, openTestStore } from '../support/embedded-store.js'

const at = '2026-03-01T10:00:00.000Z'
const box = createSecretBox(Buffer.alloc(32, 7))

t.test('issues credentials once and stores none of them in plain text', async (t) => {
  const store = await openTestStore(t)
  const commands = new MerchantCommands(store, () => at, box)
  const issued = await commands.register(settings, context)
  const key = await commands.rotateApiKey(issued.id, 60, context)
  const reports = { name: 'reports', scopes: ['read'], validUntil: null } as const
  const another = await commands.createApiKey(issued.id, reports, context)
  const secret = await commands.rotateSecret(issued.id, 'secretKey', 60, context)
  const webhook = await commands.rotateSecret(issued.id, 'webhookSecret', 0, context)
  if (!key.accepted || !another.accepted || !secret.accepted || !webhook.accepted)
    throw new Error('the rotation was rejected')
  const { events } = await store.readAll({ maxCount: 100 })
  const text = JSON.stringify(events, (_, value) => (typeof value === 'bigint' ? String(value) : value))
  const first = [issued.webApiKey, issued.secretKey, issued.webhookSecret]
  const secrets = [...first, key.webApiKey, another.webApiKey, secret.value, webhook.value]
  t.equal(new Set(secrets).size, 7)
  for (const value of secrets) t.notOk(text.includes(value))
  const merchant = await commands.find(issued.id)
  t.strictSame(
    merchant?.apiKeys.map(({ sha256, validUntil }) => [sha256, validUntil]),
    [
      [digestApiKey(key.webApiKey), null],
      [digestApiKey(issued.webApiKey), '2026-03-01T11:00:00.000Z'],
      [digestApiKey(another.webApiKey), null],
    ],
  )
  t.equal(findByApiKey(another.webApiKey, merchant?.apiKeys ?? [])?.name, 'reports')
  t.equal(box.open(merchant?.secretKeys.all[0].sealed ?? '', secretOwner(issued.id, 'secretKey')), secret.value)
  t.equal(merchant?.webhookSecret.previous, undefined)
  for (const { type, metadata } of events) {
    t.strictSame(metadata, { ...context, schemaVersion: type === 'MerchantRegistered' ? 2 : 1 })
  }
})

t.test('does not open a secret for a different purpose than it was sealed for', async (t) => {
  const store = await openTestStore(t)
  const commands = new MerchantCommands(store, () => at, box)
  const { id } = await commands.register(settings, context)
  const merchant = await commands.find(id)
  t.throws(() => box.open(merchant?.secretKeys.all[0].sealed ?? '', secretOwner(id, 'webhookSecret')))
})

t.test('keeps all concurrent changes of different settings', async (t) => {
  const store = await openTestStore(t)
  const commands = new MerchantCommands(store, () => at, box)
  const { id } = await commands.register(settings, context)
  const changes = [{ name: 'Red Shop' }, { sandbox: true }, { rateLimitPerSecond: 7 }, { allowIps: [] }]
  const results = await Promise.all(
    changes.map((change) => commands.execute(id, { type: 'ChangeSettings', changes: change }, context)),
  )
  t.ok(results.every((result) => result.accepted && result.changed))
  t.strictSame((await commands.find(id))?.settings, Object.assign({}, settings, ...changes))
})

t.test('refuses commands for an unknown merchant and creates no stream', async (t) => {
  const store = await openTestStore(t)
  const commands = new MerchantCommands(store, () => at, box)
  const id = '6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11'
  const refused = { accepted: false, refusal: { reason: 'not-found' } }
  t.match(await commands.execute(id, { type: 'ChangeSettings', changes: { name: 'Red Shop' } }, context), refused)
  t.match(await commands.rotateApiKey(id, 60, context), refused)
  t.match(await commands.rotateSecret(id, 'webhookSecret', 60, context), refused)
  t.match(await commands.suspend(id, context), refused)
  t.match(await commands.execute(id, { type: 'Resume' }, context), refused)
  t.match(await commands.execute(id, { type: 'DisableCallbacks', reason: 'gone' }, context), refused)
  t.match(await commands.execute(id, { type: 'EnableCallbacks' }, context), refused)
  t.equal(await commands.find(id), undefined)
  t.strictSame(await store.readStream(merchantStream(id)), [])
})

t.test('reports that a repeated suspension or resumption changed nothing', async (t) => {
  const store = await openTestStore(t)
  const commands = new MerchantCommands(store, () => at, box)
  const { id } = await commands.register(settings, context)
  t.match(await commands.suspend(id, context), { accepted: true, changed: true, merchant: { suspended: true } })
  t.match(await commands.suspend(id, context), { accepted: true, changed: false, merchant: { suspended: true } })
  t.match(await commands.execute(id, { type: 'Resume' }, context), {
    accepted: true,
    changed: true,
    merchant: { suspended: false },
  })
})
