import { randomBytes, randomUUID } from 'node:crypto'
import { logPath, openEventLog } from '@transferd/event-log'
import { Database } from '@transferd/event-log/sqlite'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import { DirectoryTiles } from '@transferd/transparency-log'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { LogSealer } from '../../src/audit/integrity/log-sealer.js'
import { IntegrityCommands } from '../../src/commands/integrity/integrity-commands.js'
import { MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import { skipEvent } from '../../src/commands/skip-events.js'
import { forgedProblem, maxFindings } from '../../src/domain/integrity.js'
import { integrityStream, skippedEventsStream, transferStream } from '../../src/domain/streams.js'
import { encodeEvent, UnreadableEventError } from '../../src/event-store/event-codec.js'
import { addEventCodes, checkEventCodes, eventKeyOf } from '../../src/event-store/event-codes.js'
import {
  eventText,
  type NewEvent,
  type Place,
  type RecordedEvent,
  type SerializedEvent,
} from '../../src/event-store/event-store.js'
import { readEvent } from '../../src/event-store/read-event.js'
import { auditKeyOf } from '../../src/operations/audit/audit-files.js'
import { verifyLog } from '../../src/operations/audit/verify-log.js'
import { type Configuration, readConfiguration } from '../../src/operations/configuration/configuration.js'
import { giveUpKey, rotateKeys } from '../../src/operations/keys/key-commands.js'
import { idOfMasterKey } from '../../src/security/secret-box.js'
import { depositRequest } from '../domain/transfer-samples.js'
import { anyText } from '../support/any-text.js'
import { context, openTestStore } from '../support/embedded-store.js'
import { long } from '../support/long.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { openTestLog } from '../support/service-log.js'
import { transferCommands } from '../support/transfer-commands.js'
import { until } from '../support/until.js'

const clock = () => new Date().toISOString()
const forged = /no valid authentication code/

/** Opens a log in a new directory with a merchant and a withdrawal, as the service does. */
async function openWorld(t: Test, keys: readonly Buffer[] = [randomBytes(32)]) {
  const directory = tempDirectory(t)
  const withKeys = (all: readonly Buffer[]): Configuration => {
    const given = all.map((key) => key.toString('hex')).join('\n')
    return readConfiguration({ EVENT_STORE_URL: `embedded:${directory}`, TRANSFERD_MASTER_KEY: given })
  }
  const configuration = withKeys(keys)
  const log = await openTestLog(configuration)
  t.teardown(() => log.close())
  const merchant = await new MerchantCommands(log.eventStore, clock, log.box).register(merchantSettings, context)
  const transfers = transferCommands(log.eventStore, clock, async () => merchantSettings)
  const create = async (referenceId: string) => {
    const created = await transfers.create({ ...depositRequest, merchantId: merchant.id, referenceId }, context)
    if (!created.accepted) throw new Error(created.refusal.rule)
    return created.transfer.trackingId
  }
  const seal = async () => {
    const parts = { store: log.rawEventStore, tiles: new DirectoryTiles(configuration.audit.directory) }
    const sealer = await LogSealer.open(parts, (await auditKeyOf(directory, log.rawEventStore, log.box))!)
    await sealer.follow(async () => {}, new AbortController().signal)
    await sealer.seal()
  }
  return { directory, configuration, withKeys, log, transfers, create, seal }
}

/** Returns the event that would complete the transfer. An insider who knows the format needs nothing else. */
function completion(trackingId: string, created: RecordedEvent): NewEvent {
  const { merchantId, referenceId } = created.data as { readonly merchantId: string; readonly referenceId: string }
  const common = { trackingId, merchantId, referenceId, kind: 'deposit', message: null, at: clock() } as const
  const data = {
    ...common,
    amountMinor: 10_000n,
    transactionAmountMinor: 10_000n,
    receivedAmountMinor: 10_000n,
    hasAmountMismatch: false,
    receiptUrl: null,
    reason: null,
  }
  return encodeEvent({ type: 'TransferCompleted', data }, { ...context, actor: 'user:1' })
}

t.test('an event is readable only in the place and with the content that the service wrote', async (t) => {
  const log = await openTestStore(t)
  const key = eventKeyOf(randomBytes(32).toString('base64url'))
  const service = addEventCodes(log, key)
  const isReadable = async (stream: string, revision: number) => {
    const found: Place[] = []
    const events = await checkEventCodes(log, key, (event) => found.push(event)).readStream(stream)
    t.equal(found.length, events.filter(({ isForged }) => isForged).length)
    return !events[revision]?.isForged
  }
  const text = anyText({ maxLength: 20 })
  const data = fc.dictionary(text, fc.oneof(text, fc.integer(), fc.constant(null), fc.array(text)))
  const event = fc.record({
    type: text.filter((type) => type !== ''),
    data,
    metadata: data.map((rest) => ({ actor: 'cli:a', ...rest })),
  })
  const change = fc.constantFrom(
    ...(['none', 'type', 'data', 'metadata', 'id', 'stream', 'revision', 'code', 'key'] as const),
    ...(['white space', 'escape', 'repeated name', 'reordered names'] as const),
  )
  const property = fc.asyncProperty(event, change, async (content, changed) => {
    const stream = `transfer-${randomUUID()}`
    const written = { ...content, id: randomUUID() }
    await service.append(stream, 'no_stream', [written])
    t.ok(await isReadable(stream, 0))
    const [stored] = await log.readStream(stream)
    const { mac } = stored!.metadata as { readonly mac: string }
    const metadata = { ...content.metadata, mac }
    const own = { data: JSON.stringify(content.data), metadata: JSON.stringify(metadata) }
    t.equal(stored!.text, eventText(written.id, written.type, own.data, own.metadata))
    const other = eventKeyOf(randomBytes(32).toString('base64url'))
    const forgery: { readonly [what in typeof changed]: Partial<NewEvent | SerializedEvent> } = {
      ...{ none: {}, stream: {}, revision: {}, type: { type: `${content.type}2` } },
      data: { data: { ...content.data, amountMinor: '1' } },
      metadata: { metadata: { ...metadata, actor: 'user:2' } },
      id: { id: randomUUID() },
      code: { metadata: content.metadata },
      key: { metadata: { ...content.metadata, mac: `${other.id}${mac.slice(8)}` } },
      'white space': { ...own, data: own.data.replace('{', '{ ') },
      escape: { ...own, metadata: own.metadata.replace(/"mac":(?=[^:]*$)/, '"\\u006dac":') },
      'repeated name': { ...own, metadata: own.metadata.replace('{', `{"mac":"${mac}",`) },
      'reordered names': { ...own, metadata: JSON.stringify({ mac, ...content.metadata }) },
    }
    const place = changed === 'stream' || changed === 'revision' ? `transfer-${randomUUID()}` : `copy-${randomUUID()}`
    const target = place.replace('copy-', 'transfer-')
    if (changed === 'revision') await service.append(target, 'no_stream', [{ ...content, id: randomUUID() }])
    const revision = changed === 'revision' ? 1 : 0
    const inserted = { ...written, metadata, ...forgery[changed] } as NewEvent | SerializedEvent
    await log.append(target, revision === 0 ? 'no_stream' : 0, [inserted])
    t.notOk(await isReadable(target, revision), changed)
  })
  await fc.assert(property, { numRuns: long ? 60 : 15 })
})

t.test('a forged completion is refused by every command, and stops payouts', async (t) => {
  const { log, transfers, create, seal, configuration } = await openWorld(t)
  const trackingId = await create('order-1')
  const stream = transferStream(trackingId)
  await seal()
  const [created] = await log.rawEventStore.readStream(stream)
  await log.rawEventStore.append(stream, 0, [completion(trackingId, created!)])

  const refused = transfers.act(trackingId, { type: 'Complete' }, context)
  await t.rejects(refused, { name: 'UnreadableEventError', message: forged, stream, revision: 1 })
  const integrity = new IntegrityCommands(log.eventStore, clock)
  let stopped = false
  await until(() => {
    integrity.state().then(({ stoppedSince }) => (stopped = stoppedSince !== null))
    return stopped
  })
  t.match((await integrity.state()).findings, [{ kind: 'log', place: `${stream}@1` }])
  t.equal(await transfers.arePayoutsStopped(), true)

  await seal()
  const verified = await verifyLog(configuration)
  t.match(verified, { holds: false, codesVerified: true, problems: 1, findings: [{ place: `${stream}@1` }] })

  const skipped = { stream, revision: 1, reason: 'forged, see ticket 7' }
  t.match(await skipEvent({ store: log.eventStore, clock }, skipped, context), { accepted: true, changed: true })
  // The directories of a service follow these decisions.
  await log.eventStore.readStream(skippedEventsStream)
  t.match(await transfers.act(trackingId, { type: 'Complete' }, context), { accepted: true })
  await seal()
  t.match(await verifyLog(configuration), { holds: true }, 'the decision to skip the event resolves the finding')
  await log.close()
})

t.test('a forged decision to skip an event skips nothing', async (t) => {
  const { log, transfers, create, configuration } = await openWorld(t)
  const trackingId = await create('order-1')
  await transfers.act(trackingId, { type: 'Complete' }, context)
  const [, completed] = await log.rawEventStore.readStream(transferStream(trackingId))
  const { stream, revision, id: eventId, type: eventType } = completed!
  const data = { stream, revision, eventId, eventType, problem: 'none', reason: 'none', at: clock() }
  const decision = encodeEvent({ type: 'EventSkipped', data }, context)
  await log.rawEventStore.append('problems-skipped', 'no_stream', [decision])
  await log.close()
  const again = await openTestLog(configuration)
  t.teardown(() => again.close())
  t.equal((await again.eventStore.readStream(stream))[revision]?.isSkipped, undefined)
})

t.test('a row that SQLite inserts at the end of the log is found, even after it is sealed', async (t) => {
  const { log, create, seal, configuration, directory } = await openWorld(t)
  const trackingId = await create('order-1')
  await seal()
  const [created] = await log.rawEventStore.readStream(transferStream(trackingId))
  await log.close()
  const raw = await openEventLog({ directory, writerThread: false })
  await raw.append(transferStream(trackingId), 0, [completion(trackingId, created!)])
  await raw.close()
  const db = new Database(logPath(directory))
  t.equal(db.pragma('integrity_check', { simple: true }), 'ok')
  db.close()
  const again = await openTestLog(configuration)
  const events = await again.eventStore.readStream(transferStream(trackingId))
  t.throws(() => readEvent(events[1]!), UnreadableEventError)
  await again.close()
  t.match(await verifyLog(configuration), { holds: false, findings: [{ place: `${transferStream(trackingId)}@1` }] })
})

t.test('one edited event is one finding of the verification and of its readers', async (t) => {
  const { log, transfers, create, seal, configuration, directory } = await openWorld(t)
  const trackingId = await create('order-1')
  const stream = transferStream(trackingId)
  await transfers.act(trackingId, { type: 'Complete' }, context)
  await seal()
  await log.close()
  const db = new Database(logPath(directory))
  const edit = db.prepare(`UPDATE events SET body = replace(body, '"receiptUrl":null', '"receiptUrl":""')
                           WHERE body LIKE '%"TransferCompleted"%'`)
  t.equal(edit.run().changes, 1)
  db.close()
  const { findings, problems, treeSize } = await verifyLog(configuration)
  t.equal(problems, 1)
  t.match(findings, [{ place: `${stream}@1`, leafIndex: treeSize - 1, problem: forged }])
  const again = await openTestLog(configuration)
  t.teardown(() => again.close())
  const integrity = new IntegrityCommands(again.eventStore, clock)
  t.equal(await integrity.report(findings, treeSize, context), 1)
  const reader = { kind: 'log', place: `${stream}@1`, leafIndex: null, problem: forgedProblem } as const
  t.equal(await integrity.report([reader], 0, context), 0)
})

t.test('a page of forged events is recorded as a hundred findings, and not more', async (t) => {
  const { log, create } = await openWorld(t)
  const trackingId = await create('order-1')
  const [created] = await log.rawEventStore.readStream(transferStream(trackingId))
  const forgeries = Array.from({ length: 150 }, () => completion(trackingId, created!))
  await log.rawEventStore.append(transferStream(trackingId), 0, forgeries)
  await log.eventStore.readStream(transferStream(trackingId))
  const findings = async () => (await new IntegrityCommands(log.eventStore, clock).state()).findings.length
  await until(async () => (await findings()) === maxFindings)
  await log.eventStore.readStream(transferStream(trackingId))
  t.equal((await log.rawEventStore.readStream(integrityStream)).length, maxFindings)
})

t.test('a rotation of the master key keeps the codes, and a lost key is given up by a recorded decision', async (t) => {
  const [old, next, other] = [randomBytes(32), randomBytes(32), randomBytes(32)]
  const { log, create, seal, withKeys } = await openWorld(t, [old])
  const trackingId = await create('order-1')
  await seal()
  await log.close()
  await rotateKeys(withKeys([old, next]), context)
  const rotated = await openTestLog(withKeys([next]))
  t.notOk((await rotated.eventStore.readStream(transferStream(trackingId))).some(({ isForged }) => isForged))
  await rotated.close()
  t.match(await verifyLog(withKeys([next])), { holds: true, codesVerified: true })

  await t.rejects(openTestLog(withKeys([other])), { name: 'MasterKeyError' })
  await giveUpKey(withKeys([other]), idOfMasterKey(next), 'the vault is lost', context)
  const recovered = await openTestLog(withKeys([other]))
  const [created] = await recovered.rawEventStore.readStream(transferStream(trackingId))
  t.notOk((await recovered.eventStore.readStream(transferStream(trackingId)))[0]?.isForged)
  const late = { ...completion(trackingId, created!) }
  const withOldCode = { ...late, metadata: { ...late.metadata, mac: created!.metadata.mac } }
  await recovered.rawEventStore.append(transferStream(trackingId), 0, [withOldCode])
  const [, inserted] = await recovered.eventStore.readStream(transferStream(trackingId))
  t.equal(inserted?.isForged, true, 'a code of the lost key is accepted only before the decision')
  await recovered.close()
})
