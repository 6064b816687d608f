import type { WalletBehaviour } from '../domain/scenarios.js'
import { type LogIn, type Wallet, WalletOutcomeUnknownError, WalletUnavailableError } from './wallet.js'

/** The customer of every sandbox merchant, on every installation. The account holds no money, and needs no wallet. */
export const testCustomer = { email: 'test@wallet.example', password: '123456', code: '123456' } as const

/** The account that the customer's payment uses. What the wallet does depends on it, so it is known wherever the account is. */
const accounts: { readonly [behaviour in WalletBehaviour]: number } = {
  pays: 999_999_999_991,
  'pays-less': 999_999_999_992,
  declines: 999_999_999_993,
  'asks-about-device': 999_999_999_994,
  'times-out': 999_999_999_995,
}

const numbers: readonly number[] = Object.values(accounts)

/** The numbers below belong to accounts of wallets. */
export const firstTestAccount = Math.min(...numbers)

export function isTestAccount(accountNumber: number): boolean {
  return numbers.includes(accountNumber)
}

/** Returns the result of a login of the test customer, or `undefined` for any other email. */
export function testLogIn(email: string, password: string, behaviour: WalletBehaviour): LogIn | undefined {
  if (email.trim().toLowerCase() !== testCustomer.email) return undefined
  if (password !== testCustomer.password) return { outcome: 'refused' }
  return { outcome: 'accepted', accountNumber: accounts[behaviour], sandbox: true }
}

/** The amount by which the customer pays less in a mismatch, or more if nothing would be left. */
const differenceMinor = 1_00n

/** Returns the amount that the customer pays instead of the requested one. */
export function mismatchOf(amountMinor: bigint): bigint {
  return amountMinor > differenceMinor ? amountMinor - differenceMinor : amountMinor + differenceMinor
}

/**
 * Returns a wallet that serves the accounts of the test customer, and passes every other account to `wallet`. `confirm` receives the link
 * of the email about the device, which the customer opens.
 */
export function withTestCustomer(wallet: Wallet, confirm: (confirmUrl: string) => void): Wallet {
  return {
    ...(wallet.absenceIsProof && { absenceIsProof: true }),
    unpreparedReason: () => wallet.unpreparedReason?.(),
    async logIn(email, password, merchantId) {
      const result = await wallet.logIn(email, password, merchantId)
      if (result.outcome === 'accepted' && isTestAccount(result.accountNumber))
        throw new WalletUnavailableError(`the wallet uses the reserved account number ${result.accountNumber}`)
      return result
    },
    async sendCode(challenge, payment) {
      if (!isTestAccount(challenge.accountNumber)) await wallet.sendCode(challenge, payment)
    },
    verifyCode: async (challenge, code) =>
      isTestAccount(challenge.accountNumber) ? code === testCustomer.code : wallet.verifyCode(challenge, code),
    isTrusted: async (accountNumber, device) =>
      isTestAccount(accountNumber)
        ? accountNumber !== accounts['asks-about-device']
        : wallet.isTrusted(accountNumber, device),
    async requestTrust(request) {
      if (isTestAccount(request.accountNumber)) confirm(request.confirmUrl)
      else await wallet.requestTrust(request)
    },
    async trust(accountNumber, device) {
      if (!isTestAccount(accountNumber)) await wallet.trust(accountNumber, device)
    },
    collect: async (request) => {
      const { accountNumber, amountMinor, sandbox } = request
      if (!isTestAccount(accountNumber)) return wallet.collect(request)
      // The merchant may have gone live since the login.
      if (!sandbox) return { outcome: 'refused', reason: 'account-blocked' }
      if (accountNumber === accounts.declines) return { outcome: 'refused', reason: 'insufficient-balance' }
      if (accountNumber === accounts['times-out']) throw new WalletOutcomeUnknownError('the wallet did not respond')
      if (accountNumber !== accounts['pays-less']) return { outcome: 'collected', amountMinor, receiptUrl: null }
      return { outcome: 'collected', amountMinor: mismatchOf(amountMinor), receiptUrl: null }
    },
    collectionOf: async (request) => (isTestAccount(request.accountNumber) ? undefined : wallet.collectionOf(request)),
    ...(wallet.refund && {
      refund: async (request) => isTestAccount(request.accountNumber) || wallet.refund!(request),
    }),
  }
}
