import { randomUUID } from 'node:crypto'
import t from 'tap'
import { limitCodes } from '../../src/main/compose-wallet.js'
import { depositRequest } from '../domain/transfer-samples.js'
import { MemoryWallet } from '../support/memory-wallet.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }

t.test(
  'limits the codes of an account to three in a row across all merchants, without affecting other accounts',
  async (t) => {
    const wallet = new MemoryWallet()
    wallet.open('ada@example.com', '734219', 1n)
    wallet.open('other@example.com', '734219', 1n)
    const service = await startTestService({ wallet, takeCode: limitCodes(() => performance.now()) })
    t.teardown(() => destroyTestService(service))
    const { transfers, walletPayments: payments } = service
    const merchants = [(await service.merchant()).id, (await service.merchant()).id]
    const logIn = async (n: number, email: string, password: string) => {
      const merchantId = merchants[n % 2]!
      const request = { ...depositRequest, merchantId, referenceId: randomUUID(), channel: 'native' } as const
      const created = await transfers.create(request, context)
      if (!created.accepted) throw new Error(created.refusal.rule)
      const { trackingId } = created.transfer
      return payments.logIn({ trackingId, merchantId, channel: 'native', email, password }, context)
    }
    t.match(await logIn(0, 'ada@example.com', '734219'), { ok: true })
    t.match(await logIn(1, 'ADA@example.com', '000000'), { ok: false, reason: 'bad-login' })
    t.match(await logIn(1, 'ADA@example.com', '734219'), { ok: true })
    t.match(await logIn(0, 'ada@Example.com', '734219'), { ok: true })
    const fourth = await logIn(1, 'ada@example.com', '734219')
    t.match(fourth, { ok: false, reason: 'login-throttled' })
    // One code is allowed every twelve seconds. The first codes take longer on a busy machine.
    t.ok(!fourth.ok && fourth.retryAfterSeconds! >= 1 && fourth.retryAfterSeconds! <= 12)
    t.match(await logIn(0, 'other@example.com', '734219'), { ok: true })
  },
)
