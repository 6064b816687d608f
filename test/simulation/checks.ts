import { DirectoryTiles } from '@transferd/transparency-log'
import { leafOf } from '../../src/audit/integrity/event-leaf.js'
import { derivedEventId } from '../../src/commands/ids.js'
import { privacyStream } from '../../src/domain/streams.js'
import { sealedField } from '../../src/event-store/event-codec.js'
import { keyIdIn } from '../../src/privacy/customer-keys.js'
import { listLeases } from '../../src/read-models/leases.js'
import type { ReadModels } from '../../src/read-models/read-models.js'
import { expectedDocuments, storedDocuments, wholeLog } from '../support/expected-documents.js'
import type { Clients } from './clients.js'
import { scheduler } from './environment.js'
import { canaryOf } from './foundation.js'
import type { ModelTransfer } from './log-model.js'
import { rootOf } from './merkle-tree.js'
import { type Invariant, must } from './violation.js'
import type { World } from './world.js'

const maxSettlingMs = 60_000
const pollMs = 500
/** A stop seals nothing while the last seal has failed, and the next attempt follows this time later. */
const sealRetryMs = 11_000
/** A lease that is held is renewed more often. */
const heartbeatMs = 2_500

/** Waits until everything has settled, and checks the invariants of a settled world. */
export async function eventually(world: World, clients: Clients): Promise<void> {
  await settled('callbacks', () => missingCallback(world))
  await settled('settles', () => openPayout(world))
  await readModelsEqualTheLog(world)
  nothingIsLost(world, clients)
  await settled('money-balance', () => unrecordedMoney(world))
  walletAgrees(world)
  await pagesAgree(world, clients)
  await merchantsReadTheirOwn(world, clients)
  await erasedDataIsGone(world)
  await treeVerifies(world)
}

async function settled(invariant: Invariant, missing: () => string | undefined): Promise<void> {
  const untilMs = scheduler.nowMs + maxSettlingMs
  for (let found = missing(); found !== undefined; found = missing()) {
    const text = found
    must(invariant, scheduler.nowMs < untilMs, () => text)
    await scheduler.sleep(pollMs)
  }
}

function missingCallback({ model, endpoints }: World): string | undefined {
  for (const [trackingId, { callbacks }] of model.transfers) {
    const received = endpoints.received.get(trackingId)?.length ?? 0
    if (received < callbacks.length) return `callback ${received + 1} of ${trackingId} does not arrive`
  }
  return undefined
}

/** A payout whose withdrawal has ended, and an expired deposit do not stay open. */
function openPayout({ model, base }: World): string | undefined {
  for (const [trackingId, { payouts, status, kind, receivedMinor }] of model.transfers) {
    for (const [id, { state, to, isProposed }] of payouts) {
      const paying = model.transfers.get(id)
      const isDue =
        to === 'wallet' ? !isProposed : paying && paying.status !== 'Pending' && paying.status !== 'ManualControl'
      if (state === 'open' && isDue) return `payout ${id} of ${trackingId} stays open`
    }
    if (kind === 'deposit' && status === 'Pending' && receivedMinor === 0n && base.log.events.length > 0)
      return `deposit ${trackingId} does not expire`
  }
  return undefined
}

async function readModelsEqualTheLog(world: World): Promise<void> {
  const untilMs = scheduler.nowMs + maxSettlingMs
  for (;;) {
    const difference = await world.onNode(async ({ eventStore, readModels }) => {
      const expected = expectedDocuments(await wholeLog(eventStore))
      const stored = await storedDocuments(readModels)
      for (const [name, documents] of Object.entries(expected)) {
        const found = new Set(stored[name])
        const missing = documents.find((each) => !found.has(each))
        if (missing !== undefined) return differenceOf(name, missing, stored[name]!)
        const wanted = new Set(documents)
        const excess = stored[name]!.find((each) => !wanted.has(each))
        if (excess !== undefined) return `${name} have ${excess}`
      }
      return undefined
    })
    if (difference === undefined) return
    must('read-models', scheduler.nowMs < untilMs, () => difference)
    await scheduler.sleep(pollMs)
  }
}

/** Names the fields in which a stored document differs. */
function differenceOf(name: string, expected: string, stored: readonly string[]): string {
  const wanted = JSON.parse(expected) as Record<string, unknown>
  const other = stored.map((text) => JSON.parse(text) as Record<string, unknown>).find(({ _id }) => _id === wanted._id)
  if (!other) return `${name} lack ${expected}`
  const fields = [...new Set([...Object.keys(wanted), ...Object.keys(other)])]
  const differing = fields.filter((field) => JSON.stringify(wanted[field]) !== JSON.stringify(other[field]))
  const shown = differing.map(
    (field) => `${field} ${JSON.stringify(other[field])} instead of ${JSON.stringify(wanted[field])}`,
  )
  return `${wanted._id} in ${name} has ${shown.join(', ')}`
}

function nothingIsLost({ model }: World, { acknowledged, created }: Clients): void {
  for (const { trackingId, revision, status } of acknowledged) {
    const found = model.transfers.get(trackingId)?.statuses[revision]
    must('nothing-lost', found === status, () => `${trackingId} was ${status} at revision ${revision}, and is ${found}`)
  }
  for (const trackingId of created.values())
    must('nothing-lost', model.transfers.has(trackingId), () => `the acknowledged ${trackingId} is not in the log`)
}

/** The wallet has paid the refunds that are returned, and no others. */
function walletAgrees({ model, wallet, forgotten }: World): void {
  const references = new Map<string, string>()
  for (const [trackingId, { payouts }] of model.transfers) {
    for (const [id, { to, state }] of payouts) {
      if (to !== 'wallet') continue
      const reference = derivedEventId(trackingId, `refund ${id}`)
      references.set(reference, trackingId)
      if (forgotten.has(reference)) continue
      const isCredited = wallet.credits.has(reference)
      must('one-payout', isCredited === (state === 'paid'), () => {
        return `refund ${id} of ${trackingId} is ${state}, and the wallet has ${isCredited ? '' : 'not '}paid it`
      })
    }
  }
  for (const reference of wallet.credits)
    must(
      'one-payout',
      references.has(reference) || forgotten.has(reference),
      () => `the wallet paid ${reference}, which no refund requires`,
    )
}

/** Returns a collection of the wallet that no deposit has received. */
function unrecordedMoney({ model, wallet, forgotten }: World): string | undefined {
  for (const [trackingId, { amountMinor }] of wallet.debits) {
    const { collectedMinor = -1n } = model.transfers.get(trackingId) ?? {}
    if (collectedMinor < amountMinor && !forgotten.has(trackingId))
      return `the wallet took ${amountMinor} for ${trackingId}, which has collected ${collectedMinor}`
  }
  return undefined
}

interface StatementLine {
  readonly kind: string
  readonly [figure: string]: string | number
}

/** Compares the pages of an auditor with the log. */
async function pagesAgree(world: World, clients: Clients): Promise<void> {
  const auditor = clients.user('auditor')
  const get = async <Content>(path: string): Promise<Content> => {
    const response = await clients.dashboard(auditor, 'GET', path)
    must(
      'settles',
      response?.statusCode === 200,
      () => `${path} responded with ${response?.statusCode}: ${response?.body}`,
    )
    return response!.json<Content>()
  }
  for (const { id } of world.base.merchants) {
    const range = `from=2026-03-01T00:00:00Z&to=2026-03-06T00:00:00Z&merchantId=${id}`
    const { items } = await get<{ items: readonly StatementLine[] }>(`/statement?${range}`)
    for (const kind of ['deposit', 'withdrawal']) {
      const own = [...world.model.transfers.values()].filter((each) => each.merchantId === id && each.kind === kind)
      const lines = items.filter((line) => line.kind === kind)
      const shown = (figure: string) => lines.reduce((sum, line) => sum + BigInt(line[figure] ?? 0), 0n)
      const sum = (of: (transfer: ModelTransfer) => bigint) => own.reduce((total, each) => total + of(each), 0n)
      const figures: readonly (readonly [string, bigint, bigint])[] = [
        ['requestedMinor', shown('requestedMinor'), sum((each) => each.requestedMinor)],
        ['receivedMinor', shown('receivedMinor'), sum((each) => each.receivedMinor)],
        ['completedMinor', shown('completedMinor'), sum((each) => each.completedMinor)],
        ['correctedMinor', shown('correctedMinor'), sum((each) => each.correctedMinor)],
        ['returnedMinor', shown('returnedMinor'), sum((each) => each.returnedMinor)],
        ['refundedMinor', shown('refundedMinor'), sum((each) => each.refundedMinor)],
        ['resolvedMinor', shown('resolvedMinor'), sum((each) => each.resolvedMinor)],
        ['heldMinor', BigInt(lines.at(-1)?.heldMinor ?? 0), sum((each) => each.heldMinor)],
      ]
      for (const [name, found, expected] of figures)
        must('statements', found === expected, () => `${name} of ${kind}s of ${id} is ${found}, not ${expected}`)
    }
  }
  for (const transfer of [...world.model.transfers.values()].slice(0, 4)) {
    const { trackingId } = transfer
    const detail = await get<{ status: string; receivedMinor: number; returnedMinor: number; resolvedMinor: number }>(
      `/transfers/${trackingId}`,
    )
    const shown = [detail.status, detail.receivedMinor, detail.returnedMinor, detail.resolvedMinor].join()
    const { status, receivedMinor, returnedMinor, resolvedMinor } = transfer
    const expected = [status, receivedMinor, returnedMinor, resolvedMinor].join()
    must('statements', shown === expected, () => `the page of ${trackingId} shows ${shown}, not ${expected}`)
  }
}

/** Compares the lists and the feed of each merchant with its transfers. */
async function merchantsReadTheirOwn(world: World, clients: Clients): Promise<void> {
  for (const merchant of world.base.merchants) {
    const all = async (path: string, next: string, as: string) => {
      const items: { trackingId: string; revision?: number }[] = []
      let cursor: string | null = null
      do {
        const query: string = cursor === null ? '' : `&${as}=${encodeURIComponent(cursor)}`
        const response = await clients.ask(merchant, `${path}?limit=7${query}`)
        must('settles', response?.statusCode === 200, () => `${path} responded with ${response?.body}`)
        const page = response!.json<{ items: typeof items; [next: string]: unknown }>()
        items.push(...page.items)
        cursor = page.items.length === 0 ? null : ((page[next] as string | null) ?? null)
      } while (cursor !== null)
      return items
    }
    const own = [...world.model.transfers.values()].filter(({ merchantId }) => merchantId === merchant.id)
    const listed = (await all('/v1/transfers', 'nextCursor', 'cursor')).map(({ trackingId }) => trackingId)
    for (const trackingId of listed) {
      const owner = world.model.transfers.get(trackingId)?.merchantId
      must('merchant-isolation', owner === merchant.id, () => `${merchant.id} lists ${trackingId} of ${owner}`)
    }
    must('read-models', new Set(listed).size === own.length && listed.length === own.length, () => {
      return `${merchant.id} lists ${listed.length} of ${own.length} transfers`
    })
    const feed = (await all('/v1/events', 'next', 'after')).map(({ trackingId }) => trackingId)
    const expected = world.model.events
      .filter(({ stream, data }) => stream.startsWith('transfer-') && data.merchantId === merchant.id)
      .map(({ data }) => String(data.trackingId))
    must('read-models', feed.join() === expected.join(), () => `the feed of ${merchant.id} has other events`)
  }
}

/** Whatever can be read after an erasure does not contain the customer. */
async function erasedDataIsGone(world: World): Promise<void> {
  const { events } = world.model
  for (const customer of world.erased) {
    const canary = canaryOf(customer)
    let isBack = false
    const found = await world.onNode(async ({ eventStore, readModels, privacy }) => {
      for (const { id } of world.base.merchants) {
        const key = await privacy.keys.find(id, `customer-${customer}`)
        if (!key) continue
        // A create that arrives after the erasure brings the customer back under a new key.
        const isUsed = events.some(
          ({ type, data }) => type.endsWith('Created') && keyIdIn(data[sealedField]) === key.id,
        )
        if (!isUsed || events.some(({ stream }) => stream === privacyStream(key.id))) return `the key at ${id}`
        isBack = true
      }
      if (isBack) return undefined
      const texts = (await wholeLog(eventStore)).map(({ stream, data }) => `${stream} ${JSON.stringify(data)}`)
      for (const name of await readModels.listCollections())
        for (const document of await readModels.collection(name).find({}))
          texts.push(`${name} ${JSON.stringify(document)}`)
      return texts.find((text) => text.includes(canary))
    })
    must('erased-data', found === undefined, () => `${canary} was erased, but is in ${found}`)
  }
}

async function isTreeKept(readModels: ReadModels): Promise<boolean> {
  const lease = (await listLeases(readModels)).find(({ name }) => name === 'audit-tree')
  return lease !== undefined && Date.parse(lease.renewedAt) > Date.now() - heartbeatMs
}

/** Every checkpoint of the tree that was ever seen is one of the log, and the last one covers all of its events. */
async function treeVerifies(world: World): Promise<void> {
  const [node] = world.nodes
  // The node may still wait for the lease of a dead one.
  const untilMs = scheduler.nowMs + maxSettlingMs
  while (!(await world.onNode(({ readModels }) => isTreeKept(readModels)))) {
    must('audit-tree', scheduler.nowMs < untilMs, () => 'no node holds the lease of the tree')
    await scheduler.sleep(pollMs)
  }
  await scheduler.sleep(world.sealFailedMs + sealRetryMs - scheduler.nowMs)
  await world.stop(node!)
  world.seeTree()
  const leaves = world.base.log.events.filter(({ stream }) => !stream.startsWith('$')).map(leafOf)
  let size = 0
  for (const checkpoint of world.checkpoints) {
    must('audit-tree', checkpoint.size >= size, () => `the tree has shrunk from ${size} to ${checkpoint.size}`)
    size = checkpoint.size
    const root = rootOf(leaves.slice(0, size)).toString('base64')
    must('audit-tree', root === checkpoint.root, () => `the checkpoint of ${size} events is not that of the log`)
  }
  must('audit-tree', size === leaves.length, () => `the tree covers ${size} of ${leaves.length} events`)
  const tiles = new DirectoryTiles(node!.configuration.audit.directory)
  must('audit-tree', (await tiles.read('checkpoint')) !== undefined, () => 'the tree has no checkpoint')
}
