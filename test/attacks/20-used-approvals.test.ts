import { randomUUID } from 'node:crypto'
import t from 'tap'
import { transferStream } from '../../src/domain/streams.js'
import { maxSteps } from '../../src/domain/transfer/payout.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

t.test(
  'one user who uses up the approvals or claims locks out no one, whatever the merchant’s rules become',
  async (t) => {
    const service = await startTestService()
    t.teardown(() => destroyTestService(service))
    const { app, store, transfers, merchants, directory } = service
    const [root, ada, bob, cem, dan] = ['cli:root', 'user:ada', 'user:bob', 'user:cem', 'user:dan'].map((actor) => ({
      ...{ actor, $correlationId: 'c', $causationId: 'c' },
    }))
    const { id, secretKey, webApiKey } = await service.merchant()
    const created = await post(app, paths.withdrawal, createBody('withdrawal', secretKey), { key: webApiKey })
    const { trackingId } = created.json().result
    const setThreshold = async (approvalAboveMinor: bigint | null) => {
      await merchants.execute(id, { type: 'ChangeSettings', changes: { approvalAboveMinor } }, root!)
      await service.until(() => directory.byId(id)?.settings.approvalAboveMinor === approvalAboveMinor)
    }
    await setThreshold(50_00n)
    // Two rounds of steps are real, and the others are copies of their events.
    for (let n = 0; n < 2; n++) {
      const amountMinor = n % 2 === 0 ? 90_00n : 100_50n
      t.equal((await transfers.act(trackingId, { type: 'Approve', amountMinor }, cem!)).accepted, true)
      await transfers.act(trackingId, { type: 'Claim' }, ada!)
      await transfers.act(trackingId, { type: 'Release' }, ada!)
    }
    const steps = (await store.readStream(transferStream(trackingId))).slice(-6)
    const copies = Array.from({ length: maxSteps / 2 - 1 }, () =>
      steps.map(({ type, data, metadata: { mac: _, ...metadata } }) => ({ id: randomUUID(), type, data, metadata })),
    )
    await store.append(transferStream(trackingId), steps.at(-1)!.revision, copies.flat())
    const used = { refusal: { rule: 'claim-limit', values: { most: maxSteps } } }
    t.match(await transfers.act(trackingId, { type: 'Approve', amountMinor: 90_00n }, cem!), used)
    t.match(await transfers.act(trackingId, { type: 'Claim' }, ada!), used)
    t.match(await transfers.act(trackingId, { type: 'Approve', amountMinor: 95_00n }, dan!), { changed: true })
    await setThreshold(null)
    t.match(await transfers.act(trackingId, { type: 'Claim' }, bob!), { changed: true })
    await setThreshold(10_00n)
    const paid = { type: 'Complete', transactionAmountMinor: 95_00n } as const
    t.match(await transfers.act(trackingId, paid, bob!, { underClaim: true }), { changed: true })
  },
)
