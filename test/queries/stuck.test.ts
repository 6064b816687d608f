import { randomUUID } from 'node:crypto'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t from 'tap'
import { countWaiting, type StuckReason, stuckTransfers } from '../../src/queries/stuck.js'
import { collections, indexes, type TransferDocument } from '../../src/read-models/documents.js'
import { isServedByIndex, openWatchedReadModels, quietMerchant, transferOf } from './listed-rows.js'

const now = '2026-11-21T12:00:00.000Z'
const ago = (minutes: number) => new Date(Date.parse(now) - minutes * 60_000).toISOString()
const merchants = {
  byId: (id: string) => ({ settings: { approvalAboveMinor: id === quietMerchant ? 50_000n : null } }),
}

async function readModelsOf(documents: readonly TransferDocument[]) {
  const readModels = openWatchedReadModels(tempDirectory(t))
  t.teardown(() => readModels.close())
  await readModels.createIndexes(collections.transfers, indexes.transfers)
  const operations = documents.map((document) => ({ insertOne: { document } }))
  await readModels.collection(collections.transfers).bulkWrite(operations)
  return readModels
}

type Changes = Partial<TransferDocument>

let created = 0

function deposit(createdAt: string, changes: Changes = {}): TransferDocument {
  const own = { _id: randomUUID(), position: ++created, createdAt, updatedAt: createdAt }
  return { ...transferOf(4), ...own, status: 'Pending', ...changes }
}

function withdrawal(createdAt: string, changes: Changes = {}): TransferDocument {
  return deposit(createdAt, { kind: 'withdrawal', accountNumber: 'TR33', ...changes })
}

const claim = (until: string) => ({ by: 'user:ada', at: ago(60), until })
const payout = { claim: null, claimants: [], files: [], approval: null, steps: [{ by: 'user:ada', count: 0 }] }
const file = (minutes: number) => ({ by: 'user:ada', at: ago(minutes), messageId: 'a-file' })
const approval = { by: 'user:eve', at: ago(50), accountNumber: 'TR33', amountMinor: 60_000 }
const large: Changes = { merchantId: quietMerchant, amountMinor: 60_000 }

const cases: { readonly [name: string]: readonly [TransferDocument, StuckReason | undefined, since?: string] } = {
  'a deposit that has not expired': [deposit(ago(10), { openUntil: ago(-20) }), undefined],
  'a deposit that has just expired': [deposit(ago(31), { openUntil: ago(0.5) }), undefined],
  'a deposit that expired two minutes ago': [deposit(ago(32), { openUntil: ago(2) }), 'pending-past-expiry', ago(2)],
  'a deposit that has just entered ManualControl': [
    deposit(ago(90), { status: 'ManualControl', updatedAt: ago(5) }),
    undefined,
  ],
  'a deposit that has been in ManualControl for long': [
    deposit(ago(90), { status: 'ManualControl', updatedAt: ago(40) }),
    'manual-control',
    ago(40),
  ],
  'a withdrawal created just now': [withdrawal(ago(30)), undefined],
  'a withdrawal without a claim': [withdrawal(ago(90)), 'unpaid', ago(90)],
  'a withdrawal that is being paid': [
    withdrawal(ago(90), { payout: { ...payout, claim: claim(ago(-1)), steps: [{ by: 'user:ada', count: 5 }] } }),
    undefined,
  ],
  'a withdrawal whose only claim has lapsed': [
    withdrawal(ago(90), { payout: { ...payout, claim: claim(ago(3)), steps: [{ by: 'user:ada', count: 1 }] } }),
    'unpaid',
    ago(90),
  ],
  'a withdrawal whose claims keep lapsing': [
    withdrawal(ago(50), { payout: { ...payout, claim: claim(ago(3)), steps: [{ by: 'user:ada', count: 2 }] } }),
    'claims-lapse',
    ago(3),
  ],
  'a withdrawal in a bank file of yesterday': [
    withdrawal(ago(3_000), { payout: { ...payout, claim: claim(ago(1_500)), files: [file(1_500)] } }),
    'in-bank-file',
    ago(1_500),
  ],
  'a withdrawal in a bank file of this morning': [
    withdrawal(ago(3_000), { payout: { ...payout, claim: claim(ago(200)), files: [file(1_500), file(200)] } }),
    undefined,
  ],
  'a withdrawal that was released from its bank file': [
    withdrawal(ago(3_000), { payout: { ...payout, files: [file(1_500)] } }),
    'unpaid',
    ago(3_000),
  ],
  'a large withdrawal': [withdrawal(ago(20), large), 'awaiting-approval', ago(20)],
  'a large withdrawal that was approved and claimed once': [
    withdrawal(ago(40), {
      ...large,
      payout: { ...payout, approval, claim: claim(ago(3)), steps: [{ by: 'user:ada', count: 2 }] },
    }),
    undefined,
  ],
  'a large withdrawal that was approved for a different amount': [
    withdrawal(ago(40), {
      ...large,
      payout: { ...payout, approval: { ...approval, amountMinor: 59_999 }, steps: [{ by: 'user:ada', count: 1 }] },
    }),
    'awaiting-approval',
    ago(40),
  ],
  'a completed withdrawal': [withdrawal(ago(900), { status: 'Completed' }), undefined],
}

t.test('lists exactly the stuck transfers, with the reason and the time', async (t) => {
  const readModels = await readModelsOf(Object.values(cases).map(([document]) => document))
  const { items, more } = await stuckTransfers({ readModels, merchants }, { now })
  for (const [name, [{ _id }, reason, since]] of Object.entries(cases)) {
    const found = items.find(({ trackingId }) => trackingId === _id)
    t.equal(found?.reason, reason, name)
    if (since !== undefined) t.equal(found?.since, since, name)
  }
  t.equal(items.length, Object.values(cases).filter(([, reason]) => reason !== undefined).length)
  t.equal(more.size, 0)
  const shown = Object.values(cases).map(([document]) => document)
  const oldestOf = (found: readonly TransferDocument[]) => ({
    count: found.length,
    since: found.map(({ createdAt }) => createdAt).sort()[0] ?? null,
  })
  const inControl = (of: string) =>
    oldestOf(shown.filter(({ kind, status }) => kind === of && status === 'ManualControl'))
  const { awaitingApproval, ...counted } = await countWaiting({ readModels, merchants }, { now })
  const inManualControl = { deposit: inControl('deposit'), withdrawal: inControl('withdrawal') }
  t.strictSame(counted, { inManualControl, inOldBankFiles: 1 })
  t.ok(awaitingApproval.count >= items.filter(({ reason }) => reason === 'awaiting-approval').length)
  const ofQuiet = await countWaiting({ readModels, merchants }, { merchantIds: [quietMerchant], now })
  t.strictSame(ofQuiet.awaitingApproval, awaitingApproval, 'only its withdrawals have a threshold')
  t.equal(ofQuiet.inOldBankFiles, 0)
})

t.test('lists the oldest of many by index, within the limit of rows', async (t) => {
  const documents = Array.from({ length: 3_000 }, (_, n) => {
    const [minutes, kind] = [5_000 - n, n % 3]
    if (kind === 0) return deposit(ago(minutes + 30), { openUntil: ago(minutes) })
    return kind === 1 ? deposit(ago(minutes), { status: 'ManualControl' }) : withdrawal(ago(minutes))
  })
  const readModels = await readModelsOf(documents)
  const { answer, rowsRead, plans } = await readModels.watch(() => stuckTransfers({ readModels, merchants }, { now }))
  t.same(
    plans.filter((plan) => !isServedByIndex(plan)),
    [],
  )
  t.ok(rowsRead <= 101 + 2 * 101 + 500, `${rowsRead} rows`)
  t.same([...answer.more].sort(), [
    'awaiting-approval',
    'claims-lapse',
    'in-bank-file',
    'manual-control',
    'pending-past-expiry',
    'unpaid',
  ])
  for (const [reason, first] of [
    ['pending-past-expiry', 5_000],
    ['manual-control', 4_999],
    ['unpaid', 4_998],
  ] as const) {
    const listed = answer.items.filter((item) => item.reason === reason)
    t.equal(listed.length, 100)
    t.equal(listed[0]?.since, ago(first), 'starts with the oldest')
    t.same(
      listed.map(({ since }) => since),
      listed.map(({ since }) => since).sort(),
    )
  }
})
