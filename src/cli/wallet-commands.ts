import { randomUUID } from 'node:crypto'
import { type Command, InvalidArgumentError } from 'commander'
import { deviceIdOf } from '../commands/ids.js'
import { isEasyPassword, isPassword, isPhone, maxAccountNumber, normalEmail } from '../domain/credentials.js'
import { toJsonNumber } from '../domain/money.js'
import type { Movement, WalletAccount } from '../domain/wallet-account.js'
import type { CommandStores } from './cli-stores.js'
import { accepted, defineCommand, Refused, UsageError } from './command.js'
import { amount, integer, matching, text, tolerance, visible } from './options.js'

const maxShownMovements = 50
const maxPasswordLine = 64

interface OpenOptions {
  readonly email: string
  readonly password: string
  readonly phone: string
  readonly balance?: bigint
  readonly sandbox?: true
}

export function addWalletCommands(program: Command): void {
  const wallets = program.command('wallets').description("accounts of the built-in wallet's customers")
  const number = integer({ min: 1, max: maxAccountNumber })
  const open = wallets.command('open').description('open an account')
  defineCommand(
    open
      .requiredOption('--email <email>', 'the login name of the customer', email)
      .requiredOption(
        '--password <digits>',
        '6 digits, or - to read them from stdin, hidden from other users',
        password,
      )
      .requiredOption('--phone <number>', 'the number for codes, such as +905551234567', phone)
      .option('--balance <amount>', 'the initial balance (default: 0)', tolerance)
      .option('--sandbox', 'an account that can only pay deposits of sandbox merchants'),
    openAccount,
    { log: 'may be new' },
  )
  const credit = wallets.command('credit').argument('<accountNumber>', '', number).description('add money')
  defineCommand(
    credit
      .requiredOption('--amount <amount>', 'such as 95.00', amount)
      .option('--reference <reference>', 'credited once per reference (default: a new one)', text(64)),
    creditAccount,
  )
  const show = wallets.command('show').argument('<accountNumber>', '', number)
  defineCommand(show.description('show an account'), showAccount)
  const trust = wallets.command('trust-device').argument('<accountNumber>', '', number)
  defineCommand(
    trust
      .description("let a merchant's user pay from the account without confirmation by email")
      .requiredOption('--merchant <id>', 'the merchant')
      .requiredOption('--user <userId>', "the merchant's userId of the customer", text(128)),
    trustDevice,
  )
}

function email(text: string): string {
  return visible(matching((each) => normalEmail(each) !== undefined, 'It must be an email address.')(text))
}

const phone = matching(isPhone, 'It must be a number such as +905551234567.')

function password(text: string): string {
  if (text === '-') return text
  if (!isPassword(text)) throw new InvalidArgumentError('It must be 6 digits.')
  if (isEasyPassword(text)) throw new InvalidArgumentError('It is too easy to guess.')
  return text
}

/** @throws Refused if an external wallet core is configured */
async function accountsOf({ configuration, eventStore, clock, box }: CommandStores) {
  if (configuration.wallet.engine === 'http') throw new Refused('The accounts are in the wallet core of WALLET_URL.')
  const { createWalletAccounts } = await import('../main/compose-wallet.js')
  return createWalletAccounts({ eventStore, clock, box })
}

async function openAccount(stores: CommandStores, options: OpenOptions) {
  const accounts = await accountsOf(stores)
  const { email, phone, balance: openingBalanceMinor = 0n, sandbox = false } = options
  const password = options.password === '-' ? await passwordFromStdin() : options.password
  const opening = { email, password, phone, openingBalanceMinor, sandbox }
  const opened = accepted(await accounts.open(opening, stores.context))
  return { accountNumber: opened.account.accountNumber }
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

async function creditAccount(
  stores: CommandStores,
  options: { amount: bigint; reference?: string },
  accountNumber: number,
) {
  const accounts = await accountsOf(stores)
  const { amount: amountMinor, reference = randomUUID() } = options
  const result = accepted(await accounts.credit(accountNumber, { reference, amountMinor }, stores.context))
  const { balanceMinor } = result.account
  return {
    accountNumber,
    reference,
    amount: toJsonNumber(amountMinor),
    balance: toJsonNumber(balanceMinor),
    currency: stores.configuration.currency.code,
    changed: result.changed,
  }
}

async function showAccount(stores: CommandStores, _options: object, accountNumber: number) {
  const accounts = await accountsOf(stores)
  const account = await accounts.find(accountNumber)
  if (!account) throw new Refused('Wallet account not found.')
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

async function trustDevice(stores: CommandStores, options: { merchant: string; user: string }, accountNumber: number) {
  const accounts = await accountsOf(stores)
  // A typing error would trust a nonexistent device.
  if (!(await stores.merchants.find(options.merchant))) throw new Refused('Merchant not found.')
  const device = deviceIdOf(stores.box, options.merchant, options.user)
  const { changed } = accepted(await accounts.trustDevice(accountNumber, device, stores.context))
  return { accountNumber, device, changed }
}
