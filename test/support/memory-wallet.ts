import { randomInt } from 'node:crypto'
import type { CodeChallenge, Collect, Collection, LogIn, Wallet, WalletRefund } from '../../src/wallet/wallet.js'

interface MemoryAccount {
  readonly accountNumber: number
  readonly email: string
  readonly password: string
  readonly sandbox: boolean
  balanceMinor: bigint
  readonly trusted: Set<string>
}

/**
 * A wallet in memory with configurable faults, for tests of the flow that uses a wallet. The contract tests cover the
 * wallets themselves.
 */
export class MemoryWallet implements Wallet {
  absenceIsProof?: true
  unpreparedReason?: () => string | undefined
  readonly accounts = new Map<number, MemoryAccount>()
  /** The codes by id of the challenge. */
  readonly codes = new Map<string, string>()
  readonly debits = new Map<string, { readonly accountNumber: number; readonly amountMinor: bigint }>()
  readonly credits = new Set<string>()
  /** Whether accounts can receive money. */
  canCredit = true
  readonly confirmUrls: string[] = []
  readonly compared: string[] = []
  collects = 0
  /** Called before each response of the wallet. Throws to make it fail. */
  before: (call: keyof Wallet) => void | Promise<void> = () => {}
  /** Returns the amount that is taken instead of the requested one. */
  taken: (amountMinor: bigint) => bigint = (amountMinor) => amountMinor

  /** `sandbox` by default, like the merchants of tests. */
  open(email: string, password: string, balanceMinor: bigint, sandbox = true): MemoryAccount {
    const accountNumber = 100_000 + this.accounts.size
    const account = { accountNumber, email, password, sandbox, balanceMinor, trusted: new Set<string>() }
    this.accounts.set(accountNumber, account)
    return account
  }

  /** Returns the code of the latest login. */
  lastCode(): string {
    return [...this.codes.values()].at(-1)!
  }

  async logIn(email: string, password: string): Promise<LogIn> {
    await this.before('logIn')
    const account = [...this.accounts.values()].find((each) => each.email === email.toLowerCase())
    if (!account) return { outcome: 'refused' }
    if (account.password !== password) return { outcome: 'refused', isAccount: true }
    const { accountNumber, sandbox } = account
    return { outcome: 'accepted', accountNumber, sandbox }
  }

  async sendCode({ id }: CodeChallenge): Promise<void> {
    await this.before('sendCode')
    if (!this.codes.has(id)) this.codes.set(id, String(randomInt(1_000_000)).padStart(6, '0'))
  }

  async verifyCode({ id }: CodeChallenge, code: string): Promise<boolean> {
    await this.before('verifyCode')
    this.compared.push(id)
    return this.codes.get(id) === code
  }

  async isTrusted(accountNumber: number, device: string): Promise<boolean> {
    await this.before('isTrusted')
    return this.accounts.get(accountNumber)!.trusted.has(device)
  }

  async requestTrust({ confirmUrl }: { readonly confirmUrl: string }): Promise<void> {
    await this.before('requestTrust')
    this.confirmUrls.push(confirmUrl)
  }

  async trust(accountNumber: number, device: string): Promise<void> {
    await this.before('trust')
    this.accounts.get(accountNumber)!.trusted.add(device)
  }

  async collect({ trackingId, accountNumber, amountMinor }: Collect): Promise<Collection> {
    this.collects++
    await this.before('collect')
    const account = this.accounts.get(accountNumber)!
    const amount = this.taken(amountMinor)
    if (!this.debits.has(trackingId)) {
      if (account.balanceMinor < amount) return { outcome: 'refused', reason: 'insufficient-balance' }
      account.balanceMinor -= amount
      this.debits.set(trackingId, { accountNumber, amountMinor: amount })
    }
    return this.collected(trackingId)!
  }

  async collectionOf({ trackingId }: Pick<Collect, 'trackingId'>): Promise<Collection | undefined> {
    await this.before('collectionOf')
    return this.collected(trackingId)
  }

  async refund({ reference, accountNumber, amountMinor }: WalletRefund): Promise<boolean> {
    if (this.canCredit && !this.credits.has(reference)) {
      this.credits.add(reference)
      this.accounts.get(accountNumber)!.balanceMinor += amountMinor
    }
    await this.before('refund')
    return this.canCredit
  }

  private collected(trackingId: string): Collection | undefined {
    const debit = this.debits.get(trackingId)
    return debit && { outcome: 'collected', amountMinor: debit.amountMinor, receiptUrl: null }
  }
}
