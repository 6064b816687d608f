import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { skipEvent } from '../../src/commands/skip-events.js'
import { UserCommands, UserDirectory } from '../../src/commands/user/user-commands.js'
import { userStream } from '../../src/domain/streams.js'
import { type EventStore, StoreUnavailableError } from '../../src/event-store/event-store.js'
import { skipEvents } from '../../src/event-store/read-event.js'
import type { Passwords } from '../../src/security/passwords.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { context, openTestStore } from '../support/embedded-store.js'

const ada = { email: 'ada@example.com', name: 'Ada', role: 'auditor', merchantIds: null } as const
const box = createSecretBox(Buffer.alloc(32, 7))

/** A fast hasher that counts its calls. */
function countingPasswords(): Passwords & { readonly calls: string[] } {
  const calls: string[] = []
  return {
    calls,
    async hash(secret) {
      calls.push('hash')
      return `$argon2id$${secret}`
    },
    async verify(phc, secret) {
      calls.push('verify')
      return phc === `$argon2id$${secret}`
    },
  }
}

async function parts(t: Test, wrap: (store: EventStore) => EventStore = (store) => store) {
  const opened = await openTestStore(t)
  const store = skipEvents(wrap(opened))
  const directory = new UserDirectory(store, () => {})
  const passwords = countingPasswords()
  const clock = () => '2026-03-01T10:00:00.000Z'
  const users = new UserCommands({ store, directory, clock, box, passwords, isMerchant: () => true })
  return { store, directory, passwords, clock, users }
}

async function create(users: UserCommands, request: Parameters<UserCommands['create']>[0] = ada) {
  const created = await users.create(request, context)
  if (!created.accepted) throw new Error(created.refusal.rule)
  return created
}

t.test('gives an email reserved by an interrupted create to the intended user', async (t) => {
  const fault = { cutOff: false }
  const { users, store } = await parts(t, (store) => ({
    ...store,
    async appendInOrder(appends) {
      if (!fault.cutOff) return store.appendInOrder(appends)
      await store.appendInOrder(appends.slice(0, 1))
      throw new StoreUnavailableError('power failure')
    },
  }))
  fault.cutOff = true
  await t.rejects(users.create(ada, context), StoreUnavailableError)
  t.equal(await users.findByEmail(ada.email), undefined)
  fault.cutOff = false
  const { user } = await create(users)
  const { events } = await store.readAll({ maxCount: 100 })
  t.strictSame(
    events.map(({ type }) => type),
    ['UserEmailReserved', 'UserCreated'],
  )
  t.equal(events[0]!.data.userId, user.userId)
  t.match(await users.create(ada, context), { accepted: false, refusal: { reason: 'conflict' } })
})

t.test('does as many reads and hashes for an unknown email as for a wrong password', async (t) => {
  let reads = 0
  const { users, passwords } = await parts(t, (store) => ({
    ...store,
    readStream(...args) {
      reads++
      return store.readStream(...args)
    },
  }))
  await create(users)
  const cost = async (email: string, password: string) => {
    const before = { reads, hashes: passwords.calls.length }
    t.match(await users.prove({ email, password }, 'address'), { outcome: 'wrong' })
    return { reads: reads - before.reads, hashes: passwords.calls.slice(before.hashes) }
  }
  await cost('warm@example.com', 'x')
  const known = await cost(ada.email, 'wrong password')
  t.strictSame(known.hashes, ['verify'])
  for (const email of ['unknown@example.com', 'not an email', ''])
    t.strictSame(await cost(email, 'wrong password'), known)
})

t.test('does not accept a password for another user or with another master key', async (t) => {
  const { users, store, directory, clock, passwords } = await parts(t)
  const { user, password } = await create(users)
  const other = createSecretBox(randomBytes(32))
  const withOtherKey = new UserCommands({ store, directory, clock, box: other, passwords, isMerchant: () => true })
  t.match(await users.prove({ email: ada.email, password }, 'a'), { outcome: 'proven' })
  t.match(await withOtherKey.prove({ email: ada.email, password }, 'a'), { outcome: 'wrong', isUser: false })
  const bob = await create(users, { ...ada, email: 'bob@example.com' })
  t.not(bob.user.passwordHash, user.passwordHash)
  t.match(await users.prove({ email: 'bob@example.com', password }, 'a'), { outcome: 'wrong', isUser: true })
})

t.test('an unreadable event disables only its user until it is skipped', async (t) => {
  const { users, store, clock, directory } = await parts(t)
  const problems: unknown[] = []
  const followed = new UserDirectory(store, (error) => problems.push(error))
  const { user } = await create(users)
  const { user: bob } = await create(users, { ...ada, email: 'bob@example.com' })
  await followed.start()
  t.teardown(() => followed.stop())
  const stream = userStream(user.userId)
  const foreign = {
    id: '0d9c7a51-2f0b-4c38-8f5e-7f1e3a5b9c21',
    type: 'Foreign',
    data: {},
    metadata: { schemaVersion: 1 },
  }
  await store.append(stream, 0, [foreign])
  await followed.catchUp()
  t.equal(followed.byId(user.userId), undefined)
  t.equal(followed.byId(bob.userId)?.userId, bob.userId)
  t.match(followed.problems(), [{ stream, revision: 1 }])
  t.equal(problems.length, 1)
  await skipEvent({ store, clock }, { stream, revision: 1, reason: 'a test' }, context)
  await followed.catchUp()
  t.equal(followed.byId(user.userId)?.userId, user.userId)
  t.strictSame(followed.problems(), [])
  await directory.catchUp()
  t.strictSame(
    directory
      .all()
      .map(({ userId }) => userId)
      .sort(),
    [user.userId, bob.userId].sort(),
  )
})
