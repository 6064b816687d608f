import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { until } from '../support/until.js'
import { startReceiver } from './receiver.js'
import { context, openWorld } from './world.js'

t.test('passes the verification of the Standard Webhooks library, which rejects any change', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const { id, webhookSecret } = await world.merchant(receiver.url)
  await world.completed(id)
  world.start()
  await until(() => receiver.received.length === 1)
  const { text, headers } = receiver.received[0]!
  const sent = Object.fromEntries(
    ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [name, String(headers[name])]),
  )
  const webhook = new Webhook(webhookSecret)
  t.strictSame(webhook.verify(text, sent), JSON.parse(text))

  const signature = sent['webhook-signature']!
  const flipped = signature.replace(/.(?=.{4}$)/, (character) => (character === 'A' ? 'B' : 'A'))
  const tampered: [string, string, typeof sent][] = [
    ['the status', text.replace('"Status":2', '"Status":5'), sent],
    ['a space', `${text} `, sent],
    ['the id', text, { ...sent, 'webhook-id': '00000000-0000-4000-8000-000000000000' }],
    ['the time', text, { ...sent, 'webhook-timestamp': String(Number(sent['webhook-timestamp']) - 1) }],
    ['the signature', text, { ...sent, 'webhook-signature': flipped }],
    ['its version', text, { ...sent, 'webhook-signature': signature.replace('v1,', 'v2,') }],
  ]
  for (const [change, body, changed] of tampered)
    t.throws(() => webhook.verify(body, changed), { name: 'WebhookVerificationError' }, change)
  const other = new Webhook('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
  t.throws(() => other.verify(text, sent), { name: 'WebhookVerificationError' }, 'rejects a different secret')
})

t.test('verifies with either secret during a rotation', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const { id, webhookSecret: previous } = await world.merchant(receiver.url)
  const rotated = await world.merchants.rotateSecret(id, 'webhookSecret', 60, context)
  if (!rotated.accepted) throw new Error(rotated.refusal.rule)
  await world.directory.catchUp()
  await world.completed(id)
  world.start()
  await until(() => receiver.received.length === 1)
  const { text, headers } = receiver.received[0]!
  const sent = { ...(headers as { readonly [name: string]: string }) }
  for (const secret of [previous, rotated.value]) t.strictSame(new Webhook(secret).verify(text, sent), JSON.parse(text))
})
