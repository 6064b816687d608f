import t, { type Test } from 'tap'
import { type Message, startWalletCore } from '../../examples/wallet-core.js'
import { createHttpWallet } from '../../src/wallet/http/http-wallet.js'
import { type WalletUnderTest, walletContract } from './wallet.contract.js'

async function start(t: Test): Promise<WalletUnderTest> {
  const sent: Message[] = []
  const token = 'contract-token'
  const core = await startWalletCore({ token, onMessage: (message) => sent.unshift(message) })
  t.teardown(() => core.stop())
  const account = (accountNumber: number) => core.accounts.get(accountNumber)!
  return {
    wallet: createHttpWallet({ url: core.url, token, timeoutMs: 30_000, currency: { code: 'TRY', decimals: 2 } }),
    openAccount: async ({ balanceMinor, ...account }) =>
      core.openAccount({ ...account, balanceMinor: Number(balanceMinor) }),
    credit: async (accountNumber, amountMinor) => {
      account(accountNumber).balanceMinor += Number(amountMinor)
    },
    balanceMinor: async (accountNumber) => BigInt(account(accountNumber).balanceMinor),
    messagesTo: async (to) => sent.filter((message) => message.to === to),
  }
}

walletContract(t, start)
