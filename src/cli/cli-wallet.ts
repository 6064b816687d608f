import { randomUUID } from 'node:crypto'
import { type Command, InvalidArgumentError } from 'commander'
import { deviceIdOf } from '../commands/ids.js'
import { violate } from '../domain/decider.js'
import { toJsonNumber } from '../domain/money.js'
import { isEasyPassword, isPassword, isPhone, maxAccountNumber } from '../domain/password-rules.js'
import type { Movement, WalletAccount } from '../domain/wallet-account.js'
import { storedUuid } from '../kernel/uuid.js'
import type { CommandStores } from './cli-stores.js'
import { accepted, defineCommand, findMerchant } from './command.js'
import { Refused, refusedBy, UsageError } from './failures.js'
import { amount, email, flag, integer, matching, option, required, text, tolerance } from './options.js'

const maxShownMovements = 50
const maxPasswordLine = 64
const args = { accountNumber: { parse: integer({ min: 1, max: maxAccountNumber }) } }
const phone = matching(isPhone, 'It must be a number such as +905551234567.')

export function addWalletCommands(program: Command): void {
  const wallets = program.command('wallets').description("accounts of the built-in wallet's customers")
  const passwordDescription = '6 digits, or - to read them from stdin, hidden from other users'
  defineCommand(wallets, 'open', 'open an account', {
    examples: [
      '--email ada@example.com --phone +905551234567 --password -',
      '--email joe@example.com --phone +905551234568 --password - --balance 100 --sandbox',
    ],
    log: 'may be new',
    options: {
      email: required(option('<email>', 'the login name of the customer', email)),
      password: required(option('<digits>', passwordDescription, password)),
      phone: required(option('<number>', 'the number for codes, such as +905551234567', phone)),
      balance: option('<amount>', 'the initial balance (default: 0)', tolerance),
      sandbox: flag('an account that can only pay deposits of sandbox merchants'),
    },
    async run(stores, { balance: openingBalanceMinor = 0n, sandbox = false, ...given }) {
      const accounts = await accountsOf(stores)
      const { email, phone } = given
      const password = given.password === '-' ? await passwordFromStdin() : given.password
      const opening = { email, password, phone, openingBalanceMinor, sandbox }
      return { accountNumber: accepted(await accounts.open(opening, stores.context)).account.accountNumber }
    },
  })
  defineCommand(wallets, 'credit <accountNumber>', 'add money', {
    examples: ['1000001 --amount 95.00 --reference transfer-of-21-november', '1000001 --amount 95.00 --json'],
    args,
    options: {
      amount: required(option('<amount>', 'such as 95.00', amount)),
      reference: option('<reference>', 'credited once per reference (default: a new one)', text(64)),
    },
    async run(stores, { amount: amountMinor, reference = randomUUID() }, accountNumber: number) {
      const accounts = await accountsOf(stores)
      const result = accepted(
        await accounts.execute(accountNumber, { type: 'Credit', reference, amountMinor }, stores.context),
      )
      return {
        accountNumber,
        reference,
        amount: toJsonNumber(amountMinor),
        balance: toJsonNumber(result.account.balanceMinor),
        currency: stores.configuration.currency.code,
        changed: result.changed,
      }
    },
  })
  defineCommand(wallets, 'show <accountNumber>', 'show an account', {
    examples: ['1000001', '1000001 --json'],
    args,
    async run(stores, _, accountNumber: number) {
      const accounts = await accountsOf(stores)
      const account = await accounts.find(accountNumber)
      if (!account) throw refusedBy(violate('unknown-account'))
      return {
        accountNumber,
        ...accounts.contact(account),
        balance: toJsonNumber(account.balanceMinor),
        currency: stores.configuration.currency.code,
        sandbox: account.sandbox,
        trustedDevices: account.trustedDevices,
        openedAt: account.openedAt,
        movements: latestMovements(account),
      }
    },
  })
  const trusting = "let a merchant's user pay from the account without confirmation by email"
  defineCommand(wallets, 'trust-device <accountNumber>', trusting, {
    examples: [
      '1000001 --merchant f5ebe0d2 --user customer-42',
      '1000001 --merchant f5ebe0d2 --user customer-42 --json',
    ],
    args,
    options: {
      merchant: required(option('<id>', 'the merchant', storedUuid)),
      user: required(option('<userId>', "the merchant's userId of the customer", text(128))),
    },
    async run(stores, { merchant, user }, accountNumber: number) {
      const accounts = await accountsOf(stores)
      // A typing error would trust a nonexistent device.
      await findMerchant(stores, merchant)
      const device = deviceIdOf(stores.box, merchant, user)
      const { changed } = accepted(
        await accounts.execute(accountNumber, { type: 'TrustDevice', device }, stores.context),
      )
      return { accountNumber, device, changed }
    },
  })
}

function password(text: string): string {
  if (text === '-') return text
  if (!isPassword(text)) throw new InvalidArgumentError('It must be 6 digits.')
  if (isEasyPassword(text)) throw new InvalidArgumentError('It is too easy to guess.')
  return text
}

async function passwordFromStdin(): Promise<string> {
  let text = ''
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk
    if (text.includes('\n') || text.length > maxPasswordLine) break
  }
  const line = text.split(/\r?\n/, 1)[0] ?? ''
  if (!isPassword(line)) throw new UsageError('the password on stdin must be 6 digits')
  if (isEasyPassword(line)) throw new UsageError('the password on stdin is too easy to guess')
  return line
}

/** @throws Refused if an external wallet core is configured */
async function accountsOf({ configuration, eventStore, clock, box }: CommandStores) {
  if (configuration.wallet.engine === 'http')
    throw new Refused('wallet-core', 'The accounts are in the wallet core of WALLET_URL.')
  const { createWalletAccounts } = await import('../main/compose-wallet.js')
  return createWalletAccounts({ eventStore, clock, box })
}

/** Returns the newest first. */
function latestMovements(account: WalletAccount) {
  const shown: object[] = []
  let movement: Movement | undefined = account.movement
  for (; movement && shown.length < maxShownMovements; movement = movement.previous) {
    const { kind, key, amountMinor, description, at } = movement
    const named = kind === 'credit' ? { reference: key } : { trackingId: key, description }
    shown.push({ kind, amount: toJsonNumber(amountMinor), at, ...named })
  }
  return shown
}
