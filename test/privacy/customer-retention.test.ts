import t from 'tap'
import { BankCommands } from '../../src/commands/bank/bank-commands.js'
import { eraseOlder } from '../../src/privacy/customer-erasure.js'
import { CustomerKeys } from '../../src/privacy/customer-keys.js'
import { openEmbeddedKeyStore } from '../../src/privacy/embedded/embedded-key-store.js'
import { PrivacyStatusCount } from '../../src/privacy/privacy-status.js'
import { openTestEventStore } from '../support/event-store.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const context = { actor: 'cli:ada', $correlationId: 'test', $causationId: 'test' }

t.test('erases only customers whose last transfer is old and who have no open transfer', async (t) => {
  let now = '2016-01-01T00:00:00.000Z'
  const service = await startTestService({ clock: () => now })
  t.teardown(() => destroyTestService(service))
  const { app, store, readModels, transfers, path, secretBox, clock } = service
  const merchant = await service.merchant()
  const create = async (userId: string) => {
    const body = createBody('hosted', merchant.secretKey, { userId })
    const response = await post(app, paths.hosted, body, { key: merchant.webApiKey })
    return String(response.json().trackingId)
  }
  const [old, open] = [await create('old'), await create('open')]
  const returning = await create('returning')
  for (const id of [old, returning])
    t.match(await transfers.act(id, { type: 'Cancel', message: null }, context), { accepted: true })
  now = '2026-11-01T00:00:00.000Z'
  await create('returning')

  const keys = new CustomerKeys(openEmbeddedKeyStore({ directory: path }), secretBox)
  const raw = await openTestEventStore(path)
  t.teardown(async () => {
    await keys.close()
    await raw.close()
  })
  const count = new PrivacyStatusCount(raw, keys)
  t.match(await count.status([merchant.id], 1_000), { customers: 3, events: { sealed: 4 }, complete: true })

  const parts = {
    store,
    raw,
    keys,
    box: secretBox,
    readModels,
    transfers,
    bank: new BankCommands(store, clock, secretBox.mac, transfers),
    clock,
  }
  const rule = { before: '2020-01-01T00:00:00.000Z', reason: 'ten years', dryRun: true }
  t.match(await eraseOlder(parts, rule, context), { customers: 2, erased: 0, open: 0 })
  t.match(await eraseOlder(parts, { ...rule, dryRun: false }, context), { customers: 2, erased: 1, open: 1 })
  t.match((await transfers.find(old))!.transfer, { name: '[erased]' })
  t.match((await transfers.find(open))!.transfer, { userId: 'open' })
  t.match((await transfers.find(returning))!.transfer, { userId: 'returning' })
  t.match(await eraseOlder(parts, { ...rule, dryRun: false }, context), { customers: 1, erased: 0, open: 1 })
  t.match(await count.status([merchant.id], 1_000), { erasures: 1, keysToDestroy: 0, complete: true })
})
