import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { callbackBody } from '../../src/domain/callback.js'
import { hashCode } from '../../src/security/api-keys.js'
import { until } from '../support/until.js'
import { startReceiver } from './receiver.js'
import { context, openWorld } from './world.js'

const guide = readFileSync(new URL('../../../docs/merchants/callbacks.md', import.meta.url), 'utf8')

type Verify = (headers: object, body: string, secret: string, nowSeconds?: number) => boolean

/** Imports the guide's code as a module. */
async function importSnippet(directory: string): Promise<Verify> {
  const code = /```js\n([\s\S]*?)```/.exec(guide)?.[1]
  if (!code) throw new Error('the guide contains no snippet')
  const file = join(directory, 'verify.mjs')
  writeFileSync(file, code)
  return ((await import(pathToFileURL(file).href)) as { isFromTransferd: Verify }).isFromTransferd
}

t.test('the guide’s code accepts only genuine callbacks, even during a rotation', async (t) => {
  const isFromTransferd = await importSnippet(t.testdir())
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const { id, webhookSecret } = await world.merchant(receiver.url)
  world.start()
  await world.completed(id)
  await until(() => receiver.received.length === 1)
  const rotated = await world.merchants.rotateSecret(id, 'webhookSecret', 10, context)
  if (!rotated.accepted) throw new Error('the rotation was rejected')
  await until(() => world.directory.byId(id)?.webhookSecret.previous !== undefined)
  await world.completed(id)
  await until(() => receiver.received.length === 2)

  const [first, second] = receiver.received
  t.ok(isFromTransferd(first!.headers, first!.text, webhookSecret))
  t.ok(isFromTransferd(second!.headers, second!.text, webhookSecret), 'accepts the previous secret during the overlap')
  t.ok(isFromTransferd(second!.headers, second!.text, rotated.value), 'accepts the new secret')
  t.notOk(isFromTransferd(first!.headers, first!.text, rotated.value), 'rejects a different secret')
  t.notOk(isFromTransferd(first!.headers, first!.text.replace('"Status":2', '"Status":5'), webhookSecret))
  t.notOk(isFromTransferd({ ...first!.headers, 'webhook-id': 'x' }, first!.text, webhookSecret))
  t.notOk(
    isFromTransferd(first!.headers, first!.text, webhookSecret, Date.now() / 1_000 + 600),
    'rejects an old timestamp',
  )
})

t.test('the guide’s code and the Standard Webhooks library agree with the public vectors', async (t) => {
  const isFromTransferd = await importSnippet(t.testdir())
  const { callbacks, webhookSecret } = JSON.parse(readFileSync('sdks/test-vectors.json', 'utf8'))
  for (const { name, body, headers, nowSeconds, webhookSecrets, result } of callbacks) {
    if (webhookSecrets) continue
    // The signature is right in the last of them.
    const isGenuine = /^(accepted|repeated|wrong-hash-code)$/.test(result)
    t.equal(isFromTransferd(headers, body, webhookSecret, nowSeconds), isGenuine, name)
    const sentAt = new Date(1000 * Number(headers['webhook-timestamp']))
    const signature = () => new Webhook(webhookSecret).sign(headers['webhook-id'], sentAt, body)
    if (isGenuine) t.ok(headers['webhook-signature'].split(' ').includes(signature()), name)
  }
})

t.test('the guide’s example equals the body that is sent', async (t) => {
  const example = /```json\n(.*)\n```/.exec(guide)?.[1]
  const payload = {
    status: 2,
    referenceId: '42',
    message: null,
    amountMinor: 100_00n,
    transactionAmountMinor: 100_00n,
    hasAmountMismatch: false,
    receiptUrl: null,
  }
  const hashed = (amount: string, referenceId: string) => hashCode('sk_test', amount, referenceId)
  t.equal(example, callbackBody(payload, '0e1b7c53-4f0f-5a58-9b55-1f3f4d0a7b10', hashed))
})
