import { randomUUID } from 'node:crypto'
import { evidencePackage } from '../../../src/audit/evidence/evidence-package.js'
import { deviceIdOf } from '../../../src/commands/ids.js'
import type { Disclosable } from '../../../src/domain/disclosable.js'
import { isMerchantRole, type Role } from '../../../src/domain/user/permissions.js'
import { createSecretBox } from '../../../src/security/secret-box.js'
import { password, signIn } from '../../support/dashboard.js'
import { MemoryWallet } from '../../support/memory-wallet.js'
import { createBody, manualDeposits, paths, paymentMethods, walletPaths } from '../../support/merchant-requests.js'
import { startTestService } from '../../support/test-service.js'
import { signer, TestSealedLog } from '../proofs/test-sealed-log.js'

const context = { actor: 'cli:root', $correlationId: 'c', $causationId: 'c' }

/** A service with one merchant and its users, and the transfers whose evidence packages the documentation shows. */
export async function startEvidenceWorld() {
  const wallet = new MemoryWallet()
  const service = await startTestService({
    wallet,
    configuration: { paymentMethods: [...paymentMethods, manualDeposits] },
  })
  const { app, users } = service
  const { raw: log, keys } = service.http.privacy
  const sealed = new TestSealedLog(log)
  const settings = { name: 'Blue Shop', approvalAboveMinor: 100_000n, mismatchToleranceMinor: 0n }
  const { id: merchantId, secretKey, webApiKey } = await service.merchant(settings)

  const person = async (name: string, role: Role) => {
    const email = `${randomUUID()}@example.com`
    const merchantIds = isMerchantRole(role) ? [merchantId] : null
    const created = await users.create({ email, name, role, merchantIds }, context, password)
    if (!created.accepted) throw new Error(created.refusal.rule)
    const { post } = await signIn(app, { email, password })
    return async (path: string, body: object = {}) => {
      const response = await post(path, body)
      if (response.statusCode !== 200) throw new Error(`${path}: ${response.body}`)
      return response
    }
  }
  const [ada, grace, alan] = [
    await person('Ada Lovelace', 'operator'),
    await person('Grace Hopper', 'approver'),
    await person('Alan Turing', 'administrator'),
  ]
  const send = async (url: string, payload: string) => {
    const headers = { webapikey: webApiKey, 'content-type': 'application/json' }
    const response = await app.inject({ method: 'POST', url, headers, payload })
    if (response.statusCode !== 200) throw new Error(`${url}: ${response.body}`)
    return response.json()
  }
  const create = async (kind: 'native' | 'withdrawal', fields: object, amount: string): Promise<string> =>
    (await send(paths[kind], createBody(kind, secretKey, { ...fields }, amount))).result.trackingId

  let orders = 1041
  const nextOrder = () => `order-${++orders}`

  return {
    service,
    merchantId,
    sealed,
    /** Seals the log and returns the package of a transfer. */
    async package(trackingId: string, disclose: readonly Disclosable[] = [], older?: string) {
      await sealed.seal()
      const { tiles } = sealed
      return (await evidencePackage({ log, tiles, key: signer, keys }, trackingId, { disclose, older }))!.bytes
    },
    /** An operator puts a withdrawal into a bank file, an approver approves it, and the operator completes it. */
    async withdrawal() {
      const payee = { userId: '8412', name: 'Mary Shelley', username: 'mary', identityNumber: '10000000146' }
      const fields = { ...payee, referenceId: nextOrder(), accountNumber: 'DE89370400440532013000', paymentMethod: 2 }
      const trackingId = await create('withdrawal', fields, '1500.00')
      const url = `/transfers/${trackingId}`
      await grace(`${url}/approve`, { revision: 0 })
      await ada(`${url}/claim`, { revision: 1 })
      await ada('/withdrawals/bank-file', { format: 'csv', trackingIds: [trackingId] })
      await ada(`${url}/complete`, { revision: 3, receiptUrl: 'https://bank.example/receipts/1042' })
      return trackingId
    },
    /** A deposit is completed with a wrong amount, which another person corrects. */
    async correctedDeposit() {
      const payer = { userId: '8413', name: 'Ada Byron', username: 'byron' }
      const trackingId = await create('native', { ...payer, referenceId: nextOrder(), paymentMethod: 7 }, '2500.00')
      const url = `/transfers/${trackingId}`
      const wrong = { amountMinor: 520_000, confirmedAmountMinor: 520_000, message: 'Paid by bank transfer' }
      await ada(`${url}/complete`, { revision: 0, ...wrong, receiptUrl: 'https://bank.example/receipts/1043' })
      const right = { amountMinor: 250_000, confirmedAmountMinor: 250_000 }
      const reason = 'Two digits were swapped: the statement shows 2500.00'
      await ada(`${url}/correct`, { revision: 1, ...right, reason, reference: 'ticket 77' })
      await grace(`${url}/approve-correction`, { revision: 2, amountMinor: 250_000 })
      return trackingId
    },
    /** A customer pays a deposit from a wallet account. */
    async walletDeposit() {
      const customer = { email: `${randomUUID()}@example.com`, password: '734219' }
      const account = wallet.open(customer.email, customer.password, 1_000_000n)
      account.trusted.add(deviceIdOf(createSecretBox(service.masterKey), merchantId, '8414'))
      const payer = { userId: '8414', name: 'Jane Austen', username: 'jane' }
      const trackingId = await create('native', { ...payer, referenceId: nextOrder() }, '75.50')
      const login = { trackingId, userName: customer.email, password: customer.password }
      const { result: token } = await send(walletPaths.logIn, JSON.stringify(login))
      await send(walletPaths.code, JSON.stringify({ trackingId, token, code: wallet.lastCode() }))
      return trackingId
    },
    /** A withdrawal is paid, and its customer erased. */
    async erasedCustomer() {
      const payee = { userId: '8415', name: 'Erased Person', username: 'erased' }
      const trackingId = await create('withdrawal', { ...payee, referenceId: nextOrder(), paymentMethod: 2 }, '90.00')
      await ada(`/transfers/${trackingId}/claim`, { revision: 0 })
      await ada(`/transfers/${trackingId}/complete`, { revision: 1 })
      await alan('/privacy/erase', { merchantId, userId: payee.userId, reason: 'Request of 21 November' })
      return trackingId
    },
  }
}
