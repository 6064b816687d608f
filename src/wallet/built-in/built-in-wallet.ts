import { randomUUID, timingSafeEqual } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type CommandContext, TooMuchContentionError } from '../../commands/handle-command.js'
import type { Currency } from '../../domain/money.js'
import { isCode } from '../../domain/password-rules.js'
import { debitOf, type Movement, type WalletAccount } from '../../domain/wallet-account.js'
import { StoreUnavailableError } from '../../event-store/event-store.js'
import { TooManyPasswordsError } from '../../security/passwords.js'
import type { SecretBox } from '../../security/secret-box.js'
import { MessageNotSentError, type Messages } from '../messages.js'
import {
  type CodeChallenge,
  type Collect,
  type Collection,
  type Wallet,
  WalletOutcomeUnknownError,
  WalletUnavailableError,
} from '../wallet.js'
import { codeSms, deviceEmail } from './message-texts.js'
import type { WalletAccounts } from './wallet-accounts.js'

interface BuiltInWalletDependencies {
  readonly accounts: WalletAccounts
  readonly box: Pick<SecretBox, 'mac'>
  readonly messages: Messages
  readonly currency: Currency
  /** Shown in the subject of emails. */
  readonly installationName: string
  /** Sandbox accounts hold no real money, so they are unusable outside the sandbox. */
  readonly isSandbox: () => boolean
}

const collectAttempts = 3
const collectPauseMs = 200
const codes = 1_000_000

export function createBuiltInWallet(parts: BuiltInWalletDependencies): Wallet {
  const { accounts, box, messages, currency, installationName, isSandbox } = parts
  const usable = (account: WalletAccount | undefined) =>
    account && (!account.sandbox || isSandbox()) ? account : undefined
  const find = async (accountNumber: number) => usable(await accounts.find(accountNumber))
  const existing = async (accountNumber: number) => {
    const account = await find(accountNumber)
    if (!account) throw new WalletUnavailableError(`there is no usable wallet account ${accountNumber}`)
    return account
  }
  const codeOf = ({ id, accountNumber }: CodeChallenge) => {
    // 2^48 is far larger than a million, so the bias of the remainder is negligible.
    const bits = Buffer.from(box.mac('wallet code', `${accountNumber}:${id}`), 'base64url').readUIntBE(0, 6)
    return String(bits % codes).padStart(6, '0')
  }
  return {
    absenceIsProof: true,
    unpreparedReason: () => messages.unpreparedReason(),
    logIn: (email, password, merchantId) =>
      available(async () => {
        const { known, matches } = await accounts.authenticate(email, password, merchantId)
        const account = usable(known)
        if (!account) return { outcome: 'refused' }
        const { accountNumber, sandbox } = account
        return matches ? { outcome: 'accepted', accountNumber, sandbox } : { outcome: 'refused', isAccount: true }
      }),
    sendCode: (challenge, payment) =>
      available(async () => {
        const { phone } = accounts.contact(await existing(challenge.accountNumber))
        await messages.sendSms(codeSms(phone, codeOf(challenge), payment, currency))
      }),
    verifyCode: async (challenge, code) =>
      isCode(code) && timingSafeEqual(Buffer.from(code), Buffer.from(codeOf(challenge))),
    isTrusted: (accountNumber, device) =>
      available(async () => (await find(accountNumber))?.trustedDevices.includes(device) ?? false),
    requestTrust: ({ accountNumber, confirmUrl, ...payment }) =>
      available(async () => {
        const { email } = accounts.contact(await existing(accountNumber))
        await messages.sendEmail(deviceEmail(email, confirmUrl, payment, currency, installationName))
      }),
    trust: (accountNumber, device) =>
      available(async () => {
        await existing(accountNumber)
        await accounts.execute(accountNumber, { type: 'TrustDevice', device }, walletContext(randomUUID()))
      }),
    collect: async (request) => {
      // The account is read first, because nothing can have been debited if this read fails.
      const account = await available(() => accounts.find(request.accountNumber))
      const before = account && debitOf(account, request.trackingId)
      if (before?.kind === 'debit') return collectionOf(before)
      // The merchant may have gone live since the login.
      if (usable(account)?.sandbox !== request.sandbox) return { outcome: 'refused', reason: 'account-blocked' }
      return collectionOf(await debit(accounts, request))
    },
    collectionOf: ({ accountNumber, trackingId }) =>
      available(async () => {
        const account = await accounts.find(accountNumber)
        const before = account && debitOf(account, trackingId)
        return before?.kind === 'debit' ? collectionOf(before) : undefined
      }),
    refund: ({ accountNumber, reference, amountMinor }) =>
      available(async () => {
        const command = { type: 'Credit', reference, amountMinor } as const
        return (await accounts.execute(accountNumber, command, walletContext(reference))).accepted
      }),
  }
}

/** Debits the account. Retrying is safe, because each attempt first checks the log for the debit. */
async function debit(accounts: WalletAccounts, request: Collect): Promise<Movement> {
  for (let attempt = 1; ; attempt++) {
    try {
      const movement = await accounts.debit(request.accountNumber, request, walletContext(request.trackingId))
      if (movement) return movement
      throw new Error('a wallet account is missing from the log')
    } catch (error) {
      // Contention means that this attempt appended nothing, but the outcome of an earlier attempt may be unknown.
      const isSafe = error instanceof TooMuchContentionError && attempt === 1
      if (isSafe) throw new WalletUnavailableError(error.message)
      if (!(error instanceof StoreUnavailableError || error instanceof TooMuchContentionError)) throw error
      if (attempt === collectAttempts) throw new WalletOutcomeUnknownError(error.message)
      await delay(collectPauseMs)
    }
  }
}

function collectionOf(movement: Movement): Collection {
  switch (movement.kind) {
    case 'debit':
      return { outcome: 'collected', amountMinor: movement.amountMinor, receiptUrl: null }
    case 'refused debit':
      return { outcome: 'refused', reason: 'insufficient-balance' }
    case 'credit':
      throw new Error('a credit cannot be the result of a debit')
    default:
      return movement.kind satisfies never
  }
}

function walletContext(cause: string): CommandContext {
  return { actor: 'system:wallet', $correlationId: cause, $causationId: cause }
}

/** Converts temporary failures to the port's error. The caller can retry safely, because a retry repeats no effect. */
async function available<Value>(call: () => Promise<Value>): Promise<Value> {
  try {
    return await call()
  } catch (error) {
    const isPassing =
      error instanceof StoreUnavailableError ||
      error instanceof TooMuchContentionError ||
      error instanceof TooManyPasswordsError ||
      error instanceof MessageNotSentError
    throw isPassing ? new WalletUnavailableError(error.message) : error
  }
}
