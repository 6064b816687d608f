import { randomBytes, randomUUID } from 'node:crypto'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t, { type Test } from 'tap'
import { createWallet } from '../../src/main/compose-wallet.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { context } from '../support/embedded-store.js'
import { openTestEventStore } from '../support/event-store.js'
import { openTestReadModels, removeTestReadModels } from '../support/read-models.js'
import { type WalletUnderTest, walletContract } from './wallet.contract.js'

async function start(t: Test): Promise<WalletUnderTest> {
  const directory = tempDirectory(t)
  const eventStore = await openTestEventStore(directory)
  const readModels = await openTestReadModels(directory)
  t.teardown(async () => {
    await eventStore.close()
    await readModels.close()
    await removeTestReadModels(directory)
  })
  const box = createSecretBox(randomBytes(32))
  const clock = () => new Date().toISOString()
  const { wallet, accounts, outbox } = createWallet({
    configuration: readConfiguration({}),
    installationName: 'pay.example',
    eventStore,
    readModels,
    box,
    clock,
    isSandbox: () => true,
  })
  if (!accounts) throw new Error('the built-in wallet is not configured')
  return {
    wallet,
    openAccount: async ({ balanceMinor, ...account }) => {
      const result = await accounts.open({ ...account, openingBalanceMinor: balanceMinor }, context)
      if (!result.accepted) throw new Error(result.refusal.rule)
      return result.account.accountNumber
    },
    credit: async (accountNumber, amountMinor) => {
      await accounts.execute(accountNumber, { type: 'Credit', reference: randomUUID(), amountMinor }, context)
    },
    balanceMinor: async (accountNumber) => (await accounts.find(accountNumber))?.balanceMinor ?? -1n,
    messagesTo: async (to) => (await outbox.list()).filter((message) => message.to === to),
  }
}

walletContract(t, start)
