import { createHash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { BankCommands } from '../../src/commands/bank/bank-commands.js'
import { deviceIdOf } from '../../src/commands/ids.js'
import { type EventStore, StoreUnavailableError } from '../../src/event-store/event-store.js'
import { eraseCustomer, finishErasures, type PrivacyParts } from '../../src/privacy/customer-erasure.js'
import { exportCustomer } from '../../src/privacy/customer-export.js'
import { CustomerKeys } from '../../src/privacy/customer-keys.js'
import { openEmbeddedKeyStore } from '../../src/privacy/embedded/embedded-key-store.js'
import { compactEmbeddedReadModels } from '../../src/read-models/embedded/maintenance.js'
import { storeReceipt } from '../../src/read-models/receipts.js'
import { receiptName } from '../../src/security/receipt-names.js'
import { openTestEventStore } from '../support/event-store.js'
import { expectedDocuments, storedDocuments, wholeLog } from '../support/expected-documents.js'
import { MemoryWallet } from '../support/memory-wallet.js'
import { type CreateKind, createBody, paths, post, walletPaths } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const context = { actor: 'cli:ada', $correlationId: 'test', $causationId: 'test' }
/** Values that occur nowhere else. */
const accountNumber = 734_219_550_118
const canaries = {
  userId: 'canary.user+7731@example.com',
  name: 'Kanarya Çağrıbey-Öztürk',
  username: 'kanarya_cagribey_7731',
  iban: 'TR940006100519786457009931',
  identityNumber: '48117730295',
  account: String(accountNumber),
}

/** Returns the bytes of a text in every encoding that files may use. */
function encodingsOf(text: string): Buffer[] {
  const bytes = Buffer.from(text)
  // Returns the middle of the Base64 text for each offset of the text in a group of three bytes.
  const base64 = [0, 1, 2].flatMap((shift) => {
    const shifted = Buffer.concat([Buffer.alloc(shift), bytes])
    const inner = (encoding: 'base64' | 'base64url') => shifted.toString(encoding).slice(4, -4)
    return [inner('base64'), inner('base64url')]
  })
  const texts = [
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    JSON.stringify(text).slice(1, -1),
    ...base64,
  ]
  return [
    bytes,
    Buffer.from(text, 'utf16le'),
    Buffer.from(text.toLowerCase()),
    ...texts.map((each) => Buffer.from(each)),
  ]
}

/** Returns `file: canary` for each canary in a file of the directory. */
function findCanaries(directory: string, files: (name: string) => boolean = () => true): string[] {
  const all = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return all
    .filter(({ name }) => files(name))
    .flatMap(({ parentPath, name }) => {
      const bytes = readFileSync(join(parentPath, name))
      return Object.entries(canaries)
        .filter(([, text]) => encodingsOf(text).some((encoded) => bytes.includes(encoded)))
        .map(([canary]) => `${name}: ${canary}`)
    })
}

async function openScene(t: Test) {
  const wallet = new MemoryWallet()
  const account = { ...wallet.open('payer@example.com', '734219', 50_000_00n), accountNumber }
  wallet.accounts.set(accountNumber, account)
  wallet.accounts.delete(100_000)
  const service = await startTestService({ wallet, projections: true })
  t.teardown(() => destroyTestService(service))
  const merchant = await service.merchant({ approvalAboveMinor: 1_00n })
  const { app, readModels, store, transfers, clock, path, secretBox } = service
  account.trusted.add(deviceIdOf(secretBox, merchant.id, canaries.userId))
  const { webApiKey: key, secretKey } = merchant
  const who = { userId: canaries.userId, name: canaries.name, username: canaries.username }
  const create = async (kind: CreateKind, fields: object = {}) => {
    const response = await post(app, paths[kind], createBody(kind, secretKey, { ...who, ...fields }), { key })
    t.equal(response.statusCode, 200, response.body)
    return String((response.json().result ?? response.json()).trackingId)
  }
  const keys = new CustomerKeys(openEmbeddedKeyStore({ directory: path }), secretBox)
  const raw = await openTestEventStore(path)
  t.teardown(async () => {
    await keys.close()
    await raw.close()
  })
  const parts: PrivacyParts = {
    store,
    raw,
    keys,
    box: secretBox,
    readModels,
    transfers,
    bank: new BankCommands(store, clock, secretBox.mac, transfers),
    clock,
  }
  const settled = async () => {
    const expected = expectedDocuments(await wholeLog(store))
    for (let n = 0; n < 500; n++) {
      const stored = await storedDocuments(readModels)
      if (JSON.stringify(stored) === JSON.stringify(expected)) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    t.strictSame(await storedDocuments(readModels), expected, 'the lists match the log')
  }
  return { ...service, merchant, wallet, create, parts, settled, key }
}

t.test(
  'an erasure removes the customer’s data from every file in every encoding, and changes nothing else',
  async (t) => {
    const { merchant, wallet, create, parts, settled, app, key, transfers, readModels, path, clock, logLines } =
      await openScene(t)
    const withdrawalFields = { accountNumber: canaries.iban, identityNumber: canaries.identityNumber }
    const [hosted, native, withdrawal] = [
      await create('hosted'),
      await create('native'),
      await create('withdrawal', withdrawalFields),
    ]
    const other = await create('native', { userId: 'other customer', name: 'Other Customer', username: 'other' })

    const send = async (url: string, body: object) => (await post(app, url, JSON.stringify(body), { key })).json()
    const login = await send(walletPaths.logIn, {
      trackingId: native,
      userName: 'payer@example.com',
      password: '734219',
    })
    const wrong = {
      trackingId: native,
      token: login.result,
      code: wallet.lastCode() === '000000' ? '111111' : '000000',
    }
    await send(walletPaths.code, wrong)
    const paid = await send(walletPaths.code, { trackingId: native, token: login.result, code: wallet.lastCode() })
    t.match(paid, { result: { next_step: 'Completed' } })

    t.match(await transfers.act(withdrawal, { type: 'Approve' }, { ...context, actor: 'user:approver' }), {
      accepted: true,
    })
    const pdf = Buffer.from(`%PDF-1.7 paid to ${canaries.name}, ${canaries.iban}`)
    const sha256 = (await storeReceipt(readModels, pdf, clock()))!
    t.equal(sha256, createHash('sha256').update(pdf).digest('hex'))
    const receiptUrl = `https://pay.example/receipts/${receiptName(parts.box, sha256)}`
    t.match(await eraseCustomer(parts, { merchantId: merchant.id, userId: canaries.userId }, 'requested', context), {
      accepted: false,
      reason: 'transfers-open',
    })
    t.match(await transfers.act(withdrawal, { type: 'Complete', receiptUrl }, { ...context, actor: 'user:clerk' }), {
      accepted: true,
    })
    const returnPdf = Buffer.from(`%PDF-1.7 ${canaries.name} sent it back`)
    const ofReturn = (await storeReceipt(readModels, returnPdf, clock()))!
    const back = { returnedAmountMinor: 1n, reasonCode: 'AC04', reference: 'RT-1' } as const
    const withReceipt = { receiptUrl: `https://pay.example/receipts/${receiptName(parts.box, ofReturn)}` }
    const action = { type: 'ReturnPayout', ...back, ...withReceipt } as const
    t.match(await transfers.act(withdrawal, action, context), { accepted: true })
    t.match(await transfers.act(hosted, { type: 'Cancel', message: 'not paid' }, context), { accepted: true })
    await settled()

    t.strictSame(
      findCanaries(path, (name) => name.startsWith('events.db') || name.startsWith('customer-keys')),
      [],
    )
    t.not(findCanaries(path).length, 0, 'the files of the lists contain canaries')
    const exported = await exportCustomer(parts, { merchantId: merchant.id, userId: canaries.userId })
    const exportedText = JSON.stringify(exported)
    for (const canary of Object.values(canaries)) t.ok(exportedText.includes(canary), canary)
    t.equal(exported!.transfers.length, 3)

    const before = await storedDocuments(readModels)
    const erased = await eraseCustomer(
      parts,
      { merchantId: merchant.id, userId: canaries.userId },
      'requested',
      context,
    )
    t.match(erased, { accepted: true, transfers: 3, receipts: 2 })
    await settled()
    await parts.keys.store.compact()
    await compactEmbeddedReadModels({ directory: path })
    t.strictSame(findCanaries(path), [])
    t.strictSame(
      logLines.filter((line) => Object.values(canaries).some((canary) => line.includes(canary))),
      [],
      'log lines contain no canary',
    )

    const after = await storedDocuments(readModels)
    t.strictSame(after.totals, before.totals)
    t.ok(after.transfers!.some((text) => text.includes(other) && text.includes('Other Customer')))
    const again = await eraseCustomer(parts, { merchantId: merchant.id, userId: canaries.userId }, 'again', context)
    t.strictSame(again, { accepted: false, reason: 'unknown-customer' })
    t.equal(await exportCustomer(parts, { merchantId: merchant.id, userId: canaries.userId }), undefined)
  },
)

t.test('an erased customer’s transfers continue to work: late money, a reopening, a repeated request', async (t) => {
  const { merchant, create, parts, transfers, store, settled } = await openScene(t)
  const referenceId = randomUUID()
  const trackingId = await create('hosted', { referenceId })
  await transfers.act(trackingId, { type: 'Cancel', message: null }, context)
  await eraseCustomer(parts, { merchantId: merchant.id, userId: canaries.userId }, 'requested', context)
  const story = await store.readStream(`transfer-${trackingId}`)
  t.strictSame(
    story.map(({ type }) => type),
    ['DepositCreated', 'TransferCancelled', 'PersonalDataErased'],
  )
  t.match((await transfers.find(trackingId))!.transfer, {
    name: '[erased]',
    userId: '[erased]',
    username: '[erased]',
  })
  t.equal(await create('hosted', { referenceId }), trackingId, 'the repeated request gets the first response')
  t.equal(await parts.keys.find(merchant.id, canaries.userId), undefined, 'and does not store the customer again')
  const received = { receivedAmountMinor: 100_50n, receiptUrl: null }
  t.match(await transfers.receiveFunds(trackingId, 1, received, context), { accepted: true, changed: true })
  t.match(await transfers.act(trackingId, { type: 'Cancel', message: null }, context), { accepted: true })
  t.match(await transfers.act(trackingId, { type: 'Reopen', reason: 'the money arrived' }, context), { accepted: true })
  t.match(await transfers.act(trackingId, { type: 'Complete' }, context), {
    accepted: true,
    transfer: { status: 'Completed' },
  })
  await settled()
})

t.test('an erasure includes a transfer that is created while the erasure is being decided', async (t) => {
  for (const ending of ['completed', 'interrupted and finished later', 'interrupted and repeated'] as const) {
    const { merchant, create, parts, transfers, settled, path, readModels } = await openScene(t)
    const customer = { merchantId: merchant.id, userId: canaries.userId }
    const first = await create('hosted')
    await transfers.act(first, { type: 'Cancel', message: null }, context)
    let concurrent = ''
    const append: EventStore['append'] = async (...args) => {
      if (concurrent !== '') return parts.store.append(...args)
      // The search for the customer's transfers has ended, and the decision is not recorded yet.
      concurrent = await create('withdrawal', { accountNumber: canaries.iban })
      await settled()
      const appended = await parts.store.append(...args)
      if (ending !== 'completed') throw new StoreUnavailableError('interrupted')
      return appended
    }
    const erasing = eraseCustomer({ ...parts, store: { ...parts.store, append } }, customer, 'requested', context)
    if (ending === 'completed') t.match(await erasing, { accepted: true, transfers: 2 })
    else {
      await t.rejects(erasing, { message: 'interrupted' })
      if (ending === 'interrupted and finished later') t.equal(await finishErasures(parts, context), 1)
      else {
        const key = await parts.keys.find(merchant.id, canaries.userId)
        await parts.keys.destroy([key!.id])
        const repeated = await eraseCustomer(parts, customer, 'requested', context)
        t.match(
          repeated,
          { accepted: false, reason: 'unknown-customer' },
          'it has no key any longer (simulated seed 1)',
        )
      }
    }
    t.equal(await finishErasures(parts, context), 0)
    const story = await parts.store.readStream(`transfer-${concurrent}`)
    t.strictSame(
      story.map(({ type }) => type),
      ['WithdrawalCreated', 'PersonalDataErased'],
    )
    await settled()
    await compactEmbeddedReadModels({ directory: path })
    t.strictSame(findCanaries(path), [], ending)
    t.match(await readModels.collection('transfers').findOne({ _id: concurrent }), { accountNumber: '[erased]' })
    await transfers.act(concurrent, { type: 'Cancel', message: 'the payee was erased' }, context)
  }
})
