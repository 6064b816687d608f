import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { withheldFields } from '../../src/audit/history/records.js'
import { MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import { transferDecider } from '../../src/domain/transfer/transfer-decider.js'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { userEvents } from '../../src/domain/user/user.js'
import { decodeEvent } from '../../src/event-store/event-codec.js'
import { type Position, parsePosition, type RecordedEvent } from '../../src/event-store/event-store.js'
import { totalsProjection } from '../../src/projections/transfer-totals.js'
import { merchantAsOf, stateAsOf, transferAsOf, userAsOf } from '../../src/queries/state-as-of.js'
import { statementFromLog, statementOf } from '../../src/queries/statement.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { givenLog } from '../audit/history/given-log.js'
import { goldenEvents } from '../event-store/codec/golden-events.js'
import { context, openTestStore, settableClock } from '../support/embedded-store.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { applyTo } from '../support/projected-documents.js'
import { logOf, steps } from '../support/random-log.js'
import { openTestReadModels, removeTestReadModels } from '../support/read-models.js'

const transfersOf = (log: readonly RecordedEvent[]) => [
  ...new Set(log.filter(({ stream }) => stream.startsWith('transfer-')).map(({ stream }) => stream.slice(9))),
]

/** Returns amounts as numbers, as in JSON. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? Number(inner) : inner)))
}

t.test('the state of a transfer at any time equals the fold of the log up to that time', async (t) => {
  await fc.assert(
    fc.asyncProperty(steps, fc.nat(), fc.boolean(), async (history, place, byTime) => {
      const log = logOf(history)
      fc.pre(log.length > 0)
      const { position, recordedAtMs } = log[place % log.length]!
      const pointInTime = byTime ? { recordedMs: recordedAtMs } : { position }
      const earlier = log.filter((each) =>
        byTime ? each.recordedAtMs <= recordedAtMs : each.position.commit <= position.commit,
      )
      for (const trackingId of transfersOf(log)) {
        const own = earlier.filter(({ stream }) => stream === `transfer-${trackingId}`)
        const expected = own.reduce(
          (state, recorded) => transferDecider.evolve(state, decodeEvent(recorded) as TransferEvent),
          transferDecider.initialState,
        )
        const found = await transferAsOf(givenLog(log), trackingId, pointInTime)
        if (own.length === 0) t.equal(found, undefined)
        else {
          t.strictSame(found?.state, { ...(plain(expected) as object), revision: own.length - 1 })
          t.equal(found?.position, String(own.at(-1)?.position.commit))
        }
      }
    }),
    { numRuns: 25 },
  )
})

t.test('a statement at any time equals the one that the page would have shown then', async (t) => {
  const directory = t.testdir()
  const readModels = await openTestReadModels(directory)
  t.teardown(async () => {
    await readModels.close()
    await removeTestReadModels(directory)
  })
  await fc.assert(
    fc.asyncProperty(steps, fc.nat(), async (history, place) => {
      const log = logOf(history)
      fc.pre(log.length > 0)
      const { position } = log[place % log.length]!
      const earlier = log.filter((each) => each.position.commit <= position.commit)
      await readModels.drop('totals')
      const events = earlier.filter(({ stream }) => stream.startsWith('transfer-'))
      await applyTo(readModels.collection('totals'), totalsProjection, events)
      const days = { from: '2026-11-01T00:00:00.000Z', to: '2027-02-01T00:00:00.000Z' }
      const range = { ...days, timeZone: 'UTC', now: '2100-01-01T00:00:00.000Z' }
      for (const merchantId of new Set(events.map(({ data }) => String(data.merchantId)))) {
        const expected = await statementOf({ readModels }, { merchantIds: [merchantId], ...range })
        // The page includes every day with open transfers. The statement from the log ends with the day of the last
        // event.
        const { lines, position: last } = await statementFromLog(givenLog(log), merchantId, undefined, { position })
        const end = lines.at(-1)?.day ?? ''
        t.strictSame(
          lines,
          expected.filter(({ day }) => day <= end),
        )
        t.equal(last, String(events.filter(({ data }) => data.merchantId === merchantId).at(-1)?.position.commit))
        const [some] = lines
        if (!some) continue
        const ofDay = await statementFromLog(givenLog(log), merchantId, some.day, { position })
        t.strictSame(
          ofDay.lines,
          expected.filter(({ day }) => day === some.day),
        )
      }
    }),
    { numRuns: 6 },
  )
})

t.test('returns the past state of a merchant with settings and key names, without secrets', async (t) => {
  const store = await openTestStore(t)
  const { clock, set } = settableClock('2026-11-20T10:00:00.000Z')
  const merchants = new MerchantCommands(store, clock, createSecretBox(Buffer.alloc(32, 7)))
  const { id } = await merchants.register(merchantSettings, context)
  const places: Position[] = []
  const note = async () => places.push((await store.readStream(`merchant-${id}`)).at(-1)!.position)
  await note()
  set('2026-11-20T11:00:00.000Z')
  await merchants.execute(id, { type: 'ChangeSettings', changes: { name: 'Renamed', maxAmountMinor: 5_000n } }, context)
  await note()
  await merchants.suspend(id, context)
  await note()
  const at = async (n: number) => (await merchantAsOf(store, id, { position: places[n]! }))?.state
  t.match(await at(0), { settings: { name: 'Shop', maxAmountMinor: 99_999_999 }, suspended: false, revision: 0 })
  t.match(await at(1), { settings: { name: 'Renamed', maxAmountMinor: 5_000 }, suspended: false, revision: 1 })
  t.match(await at(2), { suspended: true, keys: [{ name: 'main', createdAt: '2026-11-20T10:00:00.000Z' }] })
  const [registered] = await store.readStream(`merchant-${id}`)
  const text = JSON.stringify(await merchantAsOf(store, id, undefined))
  for (const field of ['apiKeySha256', 'secretKey', 'webhookSecret'])
    t.notOk(text.includes(String(registered?.data[field])), field)
  t.equal(
    await merchantAsOf(store, id, { position: parsePosition('0')! }),
    undefined,
    'the merchant does not exist yet',
  )
})

/** Returns the events of a user, one per minute: the stored samples of these types after the creation. */
function userLog(types: readonly string[]): RecordedEvent[] {
  return ['UserCreated', ...types].map((type, revision) => {
    const { data, metadata } = goldenEvents.get(`${type}.v1`)!
    const [commit, recordedAtMs] = [BigInt(revision + 1), Date.parse('2026-11-20T10:00:00.000Z') + revision * 60_000]
    const place = { stream: `user-${data.userId}`, revision, position: { commit, prepare: commit }, recordedAtMs }
    return { ...place, id: randomUUID(), type, data: { ...data, at: new Date(recordedAtMs).toISOString() }, metadata }
  })
}

const changesOfUsers = Object.keys(userEvents).filter((type) => type !== 'UserCreated')
const userFields = [
  ...['userId', 'name', 'role', 'merchantIds', 'disabled', 'heldBy', 'mustChangePassword', 'hasSecondFactor'],
  ...['unusedRecoveryCodes', 'createdAt', 'lastSignInAt', 'revision'],
]

t.test('the state of a user contains no email and no secret, at any time', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray(changesOfUsers, { minLength: 5 }), async (types) => {
      const log = userLog(types)
      const secrets = log.flatMap(({ data }) =>
        Object.entries(data).flatMap(([name, value]) =>
          withheldFields.has(name) && value !== null ? [value].flat() : [],
        ),
      )
      for (const { position, data } of log) {
        const found = await userAsOf(givenLog(log), String(data.userId), { position })
        t.strictSame(Object.keys(found?.state ?? {}), userFields)
        const text = JSON.stringify(found)
        for (const secret of secrets) t.notOk(text.includes(String(secret)), `${secret} at ${position.commit}`)
      }
    }),
    { numRuns: 20 },
  )
})

t.test('returns the access of a user at a time', async (t) => {
  const changes = ['UserSecondFactorSet', 'UserRecoveryCodesIssued', 'UserRecoveryCodeUsed', 'UserSignedIn']
  const log = userLog([...changes, 'UserRoleChanged', 'UserAccessHeld', 'UserDisabled', 'UserSecondFactorRemoved'])
  const userId = String(log[0]!.data.userId)
  const at = async (minute: number) =>
    (await userAsOf(givenLog(log), userId, { recordedMs: log[0]!.recordedAtMs + minute * 60_000 }))?.state
  t.equal(await at(-1), undefined, 'the user does not exist yet')
  const [createdAt, signedInAt] = [log[0]!.data.at, log[4]!.data.at]
  t.match(await at(0), {
    ...{ name: 'Ayşe Yılmaz', role: 'operator', merchantIds: ['6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11'] },
    ...{ disabled: false, heldBy: [], mustChangePassword: true, hasSecondFactor: false, unusedRecoveryCodes: 0 },
    ...{ createdAt, lastSignInAt: null, revision: 0 },
  })
  t.match(await at(2), { hasSecondFactor: true, unusedRecoveryCodes: 2 })
  t.match(await at(4), { unusedRecoveryCodes: 1, lastSignInAt: signedInAt, revision: 4 })
  t.match(await at(6), { role: 'auditor', merchantIds: null, heldBy: [log[6]!.data.by], disabled: false })
  t.match(await at(99), { disabled: true, hasSecondFactor: false, unusedRecoveryCodes: 0, revision: 8 })
})

t.test('parses the kind and id of a query', async (t) => {
  const log = logOf([{ transfer: 1, what: 0, minutes: 0, amount: 10_000 }])
  const { merchantId, trackingId } = log[0]!.data as { readonly merchantId: string; readonly trackingId: string }
  const store = givenLog(log)
  t.match(await stateAsOf({ store }, { of: 'transfer', id: trackingId }), {
    of: 'transfer',
    state: { status: 'Pending' },
  })
  t.equal(await stateAsOf({ store }, { of: 'transfer', id: trackingId, asOf: { recordedMs: 0 } }), undefined)
  const user = userLog([])
  const found = await stateAsOf(
    { store: givenLog(user) },
    { of: 'user', id: String(user[0]!.data.userId).toUpperCase() },
  )
  t.match(found, { of: 'user', id: user[0]!.data.userId, state: { role: 'operator' }, statement: null })
  t.equal(await stateAsOf({ store }, { of: 'user', id: merchantId }), undefined, 'an unknown user')
  for (const id of [`${merchantId}/today`, `${merchantId}/2026-02-30`, `${merchantId}/2026-11-20/x`])
    t.equal(await stateAsOf({ store }, { of: 'statement', id }), 'malformed', id)
  t.equal(await stateAsOf({ store }, { of: 'statement', id: merchantId }), undefined, 'an unknown merchant')
})
