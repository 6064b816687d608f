import { createHash } from 'node:crypto'
import t from 'tap'
import { MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import { MerchantDirectory } from '../../src/commands/merchant/merchant-directory.js'
import { SecretKeyUse } from '../../src/commands/merchant/secret-key-use.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { startReceiver } from './receiver.js'
import { context, openWorld, until } from './world.js'

t.test(
  'a receiver that checks only the HashCode, with one SecretKey, refuses no callback while it rotates',
  async (t) => {
    const world = await openWorld(t)
    const refused: unknown[] = []
    let own = ''
    const receiver = await startReceiver(t, ({ body }, response) => {
      const text = `${own}${JSON.stringify(body.Amount)}${body.RefereneceId}`
      const isRight = createHash('md5').update(text).digest('hex').toUpperCase() === body.HashCode
      if (!isRight) refused.push(body)
      response.writeHead(isRight ? 200 : 400).end()
    })
    const issued = await world.merchant(receiver.url)
    own = issued.secretKey
    world.start()
    // Another node takes the merchant's requests: whoever sends callbacks learns of them from the log only.
    const box = createSecretBox(world.masterKey)
    const node = new MerchantDirectory(world.store, box, world.clock.now, () => undefined)
    await node.start()
    t.teardown(() => node.stop())
    const use = new SecretKeyUse(new MerchantCommands(world.store, world.clock.now, box), world.clock.now)
    const request = async (secretKey: string) => {
      await node.catchUp()
      const merchant = node.byId(issued.id)!
      const made = node.secretKeys(merchant, world.clock.now()).find(({ value }) => value === secretKey)
      if (!made) throw new Error('the SecretKey is not valid')
      await use.seen(merchant, made.number, context)
    }
    const rotate = async (overlapMinutes: number) => {
      const rotated = await world.merchants.rotateSecret(issued.id, 'secretKey', overlapMinutes, context)
      if (!rotated.accepted) throw new Error('refused')
      return rotated.value
    }
    let told = 0
    const change = async () => {
      await world.completed(issued.id)
      told++
    }
    const settled = () => until(() => receiver.received.length === told)

    for (let round = 0; round < 6; round++) {
      const first = await rotate(60)
      await Promise.all([change(), change(), request(own)])
      const next = round % 2 === 0 ? first : await rotate(30)
      await change()
      // What was sent before the merchant changed has arrived: the network is not ours.
      await settled()
      await request(next)
      own = next
      await Promise.all([change(), request(next), change()])
      await settled()
    }
    t.equal(receiver.received.length, told)
    t.strictSame(refused, [])
    const events = await world.store.readStream(`merchant-${issued.id}`)
    t.equal(events.filter(({ type }) => type === 'SecretKeyTakenUp').length, 6, 'one for each change')
    await rotate(60)
    world.clock.forward(61 * 60_000)
    own = ''
    await change()
    await until(() => refused.length > 0)
    t.equal(receiver.received.length, told, 'whoever lets the overlap pass is told with the new one')
  },
)
