import { createHash } from 'node:crypto'
import t from 'tap'
import { MerchantCommands, SecretKeyUse } from '../../src/commands/merchant/merchant-commands.js'
import { MerchantDirectory } from '../../src/commands/merchant/merchant-directory.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { until } from '../support/until.js'
import { startReceiver } from './receiver.js'
import { context, openWorld } from './world.js'

t.test(
  'a receiver that only checks the HashCode with one SecretKey rejects no callback during a rotation',
  async (t) => {
    const world = await openWorld(t)
    const rejected: unknown[] = []
    let merchantKey = ''
    const receiver = await startReceiver(t, ({ body }, response) => {
      const text = `${merchantKey}${JSON.stringify(body.Amount)}${body.RefereneceId}`
      const isValid = createHash('md5').update(text).digest('hex').toUpperCase() === body.HashCode
      if (!isValid) rejected.push(body)
      response.writeHead(isValid ? 200 : 400).end()
    })
    const issued = await world.merchant(receiver.url)
    merchantKey = issued.secretKey
    world.start()
    // Another node serves the merchant's requests, so delivery sees them only in the log.
    const box = createSecretBox(world.masterKey)
    const node = new MerchantDirectory(world.store, box, world.clock.now, () => undefined)
    await node.start()
    t.teardown(() => node.stop())
    const use = new SecretKeyUse(new MerchantCommands(world.store, world.clock.now, box), world.clock.now)
    const request = async (secretKey: string) => {
      await node.catchUp()
      const merchant = node.byId(issued.id)!
      const known = node.secretKeys(merchant, world.clock.now()).find(({ value }) => value === secretKey)
      if (!known) throw new Error('the SecretKey is not valid')
      await use.seen(merchant, known.number, context)
    }
    const rotate = async (overlapMinutes: number) => {
      const rotated = await world.merchants.rotateSecret(issued.id, 'secretKey', overlapMinutes, context)
      if (!rotated.accepted) throw new Error('the rotation was rejected')
      return rotated.value
    }
    let changes = 0
    const change = async () => {
      await world.completed(issued.id)
      changes++
    }
    const allReceived = () => until(() => receiver.received.length === changes)

    for (let round = 0; round < 6; round++) {
      const first = await rotate(60)
      await Promise.all([change(), change(), request(merchantKey)])
      const next = round % 2 === 0 ? first : await rotate(30)
      await change()
      // Callbacks that are still in flight are hashed with the previous key.
      await allReceived()
      await request(next)
      merchantKey = next
      await Promise.all([change(), request(next), change()])
      await allReceived()
    }
    t.equal(receiver.received.length, changes)
    t.strictSame(rejected, [])
    const events = await world.store.readStream(`merchant-${issued.id}`)
    t.equal(
      events.filter(({ type }) => type === 'SecretKeyTakenUp').length,
      6,
      'the first use of each key is recorded once',
    )
    await rotate(60)
    world.clock.forward(61 * 60_000)
    merchantKey = ''
    await change()
    await until(() => rejected.length > 0)
    t.equal(receiver.received.length, changes, 'delivery uses the new key once the overlap has ended')
  },
)
