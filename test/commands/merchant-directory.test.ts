import t from 'tap'
import { MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import { MerchantDirectory } from '../../src/commands/merchant/merchant-directory.js'
import { merchantStream } from '../../src/domain/streams.js'
import { encodeEvent } from '../../src/event-store/event-codec.js'
import { type EventStore, StoreUnavailableError } from '../../src/event-store/event-store.js'
import { createSecretBox, type SecretBox } from '../../src/security/secret-box.js'
import { settings } from '../domain/merchant-samples.js'
import { context, openTestStore, settableClock } from '../support/embedded-store.js'
import { until } from '../support/until.js'

const start = '2026-03-01T10:00:00.000Z'

interface Tester {
  testdir(): string
  teardown(handler: () => Promise<void>): void
}

async function open(t: Tester, alter: (store: EventStore) => EventStore = (store) => store) {
  const store = await openTestStore(t)
  const { clock, set } = settableClock(start)
  const opened: string[] = []
  const box = createSecretBox(Buffer.alloc(32, 7))
  const counting: SecretBox = {
    ...box,
    open: (sealed, owner) => {
      opened.push(sealed)
      return box.open(sealed, owner)
    },
  }
  const errors: unknown[] = []
  const directory = new MerchantDirectory(alter(store), counting, clock, (error) => errors.push(error))
  const commands = new MerchantCommands(store, clock, box)
  t.teardown(() => directory.stop())
  return { store, directory, commands, set, opened, errors }
}

t.test('finds merchants registered before the start by id, key and address', async (t) => {
  const { directory, commands } = await open(t)
  const issued = await commands.register(settings, context)
  await directory.start()
  t.match(directory.byId(issued.id), { merchantId: issued.id, settings, suspended: false })
  t.equal(directory.byApiKey(issued.webApiKey)?.merchant.merchantId, issued.id)
  t.strictSame(
    directory.byAddress('10.9.8.7').map((merchant) => merchant.merchantId),
    [issued.id],
  )
  t.equal(directory.allowsAddress(issued.id, '::ffff:203.0.113.7'), true)
  t.equal(directory.allowsAddress(issued.id, '203.0.113.8'), false)
  t.strictSame(directory.secrets(directory.byId(issued.id)!, 'secretKey'), [issued.secretKey])
  t.strictSame(directory.secrets(directory.byId(issued.id)!, 'webhookSecret'), [issued.webhookSecret])
  t.strictSame(
    directory.all().map((merchant) => merchant.merchantId),
    [issued.id],
  )
})

t.test('starts on an empty log without merchants', async (t) => {
  const { directory } = await open(t)
  await directory.start()
  t.equal(directory.byId(''), undefined)
  t.equal(directory.byApiKey(`tk_${'0'.repeat(32)}_${'A'.repeat(43)}`), undefined)
  t.equal(directory.byApiKey(''), undefined)
  t.strictSame(directory.byAddress('10.0.0.1'), [])
  t.equal(directory.allowsAddress('unknown', '10.0.0.1'), false)
})

t.test('follows a new merchant, changed settings and a suspension', async (t) => {
  const { directory, commands } = await open(t)
  await directory.start()
  const { id } = await commands.register(settings, context)
  await until(() => directory.byId(id) !== undefined)
  await commands.execute(
    id,
    { type: 'ChangeSettings', changes: { allowIps: ['192.0.2.0/24', '192.0.2.0/25'], name: 'Red Shop' } },
    context,
  )
  await until(() => directory.byId(id)?.settings.name === 'Red Shop')
  t.equal(directory.allowsAddress(id, '10.0.0.1'), false, 'the removed address is rejected')
  t.equal(directory.allowsAddress(id, '192.0.2.200'), true)
  await commands.execute(id, { type: 'ChangeSettings', changes: { allowIps: ['192.0.2.0/25'] } }, context)
  await until(() => !directory.allowsAddress(id, '192.0.2.200'))
  t.equal(directory.allowsAddress(id, '192.0.2.100'), true, 'the remaining overlapping range is still valid')
  await commands.execute(id, { type: 'ChangeSettings', changes: { allowIps: [] } }, context)
  await until(() => !directory.allowsAddress(id, '192.0.2.100'))
  await commands.suspend(id, context)
  await until(() => directory.byId(id)?.suspended === true)
  await commands.execute(id, { type: 'Resume' }, context)
  await until(() => directory.byId(id)?.suspended === false)
})

t.test('accepts a rotated API key until the millisecond at which the overlap ends', async (t) => {
  const { directory, commands, set } = await open(t)
  const { id, webApiKey: old } = await commands.register(settings, context)
  await directory.start()
  const rotated = await commands.rotateApiKey(id, 60, context)
  if (!rotated.accepted) throw new Error('the rotation was rejected')
  await until(() => directory.byApiKey(rotated.webApiKey) !== undefined)
  set('2026-03-01T10:59:59.999Z')
  t.equal(directory.byApiKey(old)?.merchant.merchantId, id)
  set('2026-03-01T11:00:00.000Z')
  t.equal(directory.byApiKey(old), undefined)
  t.equal(directory.byApiKey(rotated.webApiKey)?.merchant.merchantId, id)
})

t.test('rejects a key that was revoked without overlap', async (t) => {
  const { directory, commands } = await open(t)
  const { id, webApiKey: old } = await commands.register(settings, context)
  await directory.start()
  t.equal(directory.byApiKey(old)?.merchant.merchantId, id)
  await commands.rotateApiKey(id, 0, context)
  await until(() => directory.byApiKey(old) === undefined)
})

t.test('rejects a key of one merchant with the id of another', async (t) => {
  const { directory, commands } = await open(t)
  const [one, two] = [await commands.register(settings, context), await commands.register(settings, context)]
  await directory.start()
  const mixed = one.webApiKey.slice(0, 36) + two.webApiKey.slice(36)
  t.equal(directory.byApiKey(mixed), undefined)
})

t.test('opens each secret once, keeps both during the overlap, and forgets the old secret afterwards', async (t) => {
  const { directory, commands, set, opened } = await open(t)
  const { id, secretKey: old } = await commands.register(settings, context)
  await directory.start()
  const secrets = () => directory.secrets(directory.byId(id)!, 'secretKey')
  for (let count = 0; count < 5; count++) t.strictSame(secrets(), [old])
  t.equal(opened.length, 1)
  const rotated = await commands.rotateSecret(id, 'secretKey', 60, context)
  if (!rotated.accepted) throw new Error('the rotation was rejected')
  await until(() => secrets().length === 2)
  t.strictSame(secrets(), [rotated.value, old])
  set('2026-03-01T11:00:00.000Z')
  t.strictSame(secrets(), [rotated.value])
  const before = opened.length
  for (let count = 0; count < 5; count++) secrets()
  t.equal(opened.length, before, 'no secret is opened again')
  set('2026-03-01T10:00:00.000Z')
  t.strictSame(secrets(), [rotated.value, old])
  t.equal(opened.length, before + 2, 'the old secret is opened again, because it was not kept')
})

t.test('rejects secrets sealed with another master key instead of treating them as empty', async (t) => {
  const { store, commands } = await open(t)
  const { id } = await commands.register(settings, context)
  const other = new MerchantDirectory(
    store,
    createSecretBox(Buffer.alloc(32, 8)),
    () => start,
    () => undefined,
  )
  await other.start()
  t.teardown(() => other.stop())
  t.throws(() => other.secrets(other.byId(id)!, 'secretKey'), { name: 'SecretBoxError' })
})

const ofNewerProgram = (merchantId: string) => {
  const event = encodeEvent({ type: 'MerchantSuspended', data: { merchantId, at: start } }, context)
  return { ...event, metadata: { ...event.metadata, schemaVersion: 99 } }
}

t.test('an event of a newer version disables its merchant only, and is reported once', async (t) => {
  const { store, directory, commands, errors } = await open(t)
  const one = await commands.register(settings, context)
  const two = await commands.register(settings, context)
  await directory.start()
  await store.append(merchantStream(one.id), 0, [ofNewerProgram(one.id)])
  await commands.suspend(two.id, context)
  await until(() => directory.byId(two.id)?.suspended === true)
  t.equal(directory.byApiKey(one.webApiKey), undefined)
  t.equal(directory.allowsAddress(one.id, '10.0.0.1'), false)
  t.strictSame(
    directory.byAddress('10.0.0.1').map((merchant) => merchant.merchantId),
    [two.id],
  )
  t.match(errors, [{ name: 'UnreadableEventError' }])
})

t.test('starts with an event of a newer version in the log and disables its merchant', async (t) => {
  const { store, directory, commands } = await open(t)
  const { id } = await commands.register(settings, context)
  const other = await commands.register(settings, context)
  await store.append(merchantStream(id), 0, [ofNewerProgram(id)])
  await directory.start()
  t.same(
    directory.all().map(({ merchantId }) => merchantId),
    [other.id],
  )
  t.match(directory.problemOf(id), { stream: merchantStream(id), revision: 1 })
  t.throws(() => directory.settingsOf(id), { name: 'UnreadableEventError' })
  t.equal(directory.settingsOf(other.id)?.name, settings.name)
})

t.test('resumes a failed subscription without applying a rotation twice', async (t) => {
  let failing = 0
  const { directory, commands, errors } = await open(t, (store) => ({
    ...store,
    subscribeToAll: async function* (options) {
      for await (const page of store.subscribeToAll(options)) {
        yield page
        if (page.events.length > 0 && failing-- > 0) throw new Error('connection lost')
      }
    },
  }))
  const { id } = await commands.register(settings, context)
  await directory.start()
  failing = 1
  const first = await commands.rotateApiKey(id, 60, context)
  await until(() => errors.length === 1)
  const second = await commands.rotateApiKey(id, 60, context)
  if (!first.accepted || !second.accepted) throw new Error('the rotation was rejected')
  await until(() => directory.byApiKey(second.webApiKey) !== undefined)
  t.equal(directory.byApiKey(first.webApiKey)?.merchant.merchantId, id, 'the previous key is still valid')
})

t.test('catches up with events that the subscription has not delivered, and applies each once', async (t) => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  let first = true
  const { directory, commands, errors } = await open(t, (store) => ({
    ...store,
    readAll: (options) => store.readAll(options),
    subscribeToAll: async function* (options) {
      for await (const page of store.subscribeToAll(options)) {
        if (!first) await held
        first = false
        yield page
      }
    },
  }))
  await directory.start()
  const { id, webApiKey } = await commands.register(settings, context)
  t.equal(directory.byApiKey(webApiKey), undefined)
  await Promise.all([directory.catchUp(), directory.catchUp()])
  t.equal(directory.byApiKey(webApiKey)?.merchant.merchantId, id)
  const rotated = await commands.rotateApiKey(id, 60, context)
  if (!rotated.accepted) throw new Error('the rotation was rejected')
  await directory.catchUp()
  t.equal(directory.byApiKey(rotated.webApiKey)?.merchant.merchantId, id)
  release()
  const later = await commands.register({ ...settings, name: 'Later' }, context)
  await until(() => directory.byId(later.id) !== undefined)
  t.equal(directory.byApiKey(webApiKey)?.merchant.merchantId, id, 'the key from before the rotation is still valid')
  t.strictSame(errors, [])
})

t.test('reports a long outage of the log once, and follows the log when it returns', async (t) => {
  let attempts = 0
  const { directory, commands, errors } = await open(t, (store) => ({
    ...store,
    readAll: (options) => store.readAll(options),
    subscribeToAll: async function* (options) {
      attempts++
      if (attempts === 2 || attempts === 3) throw new Error('the log is unavailable')
      for await (const page of store.subscribeToAll(options)) {
        yield page
        if (attempts === 1) throw new Error('connection lost')
      }
    },
  }))
  await directory.start()
  const { id } = await commands.register(settings, context)
  await until(() => directory.byId(id) !== undefined)
  t.equal(attempts, 4)
  t.match(errors, [{ message: 'connection lost' }])
})

t.test('is behind after unexpected failures, and not because the log is unavailable', async (t) => {
  let failure: Error | undefined = new StoreUnavailableError('no connection')
  let attempts = 0
  const { directory, commands, errors } = await open(t, (log) => ({
    ...log,
    async *subscribeToAll(options) {
      attempts++
      if (failure) throw failure
      yield* log.subscribeToAll(options)
    },
  }))
  await directory.start()
  await until(() => attempts >= 3)
  t.equal(directory.isBehind, false)
  failure = new Error('broken')
  await until(() => directory.isBehind)
  failure = undefined
  const { id } = await commands.register(settings, context)
  await until(() => directory.byId(id) !== undefined)
  t.equal(directory.isBehind, false)
  t.equal(errors.length, 1)
})
