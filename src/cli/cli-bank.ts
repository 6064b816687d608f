import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import type { BankSources } from '../bank/bank-statements.js'
import type { BankFileView, BankPaymentView } from '../bank/bank-views.js'
import type { CsvMapping } from '../domain/bank/bank-records.js'
import { matchReasons } from '../domain/bank/match-reasons.js'
import { refusalText } from '../domain/refusal-texts.js'
import { counted } from '../kernel/text.js'
import { storedUuid } from '../kernel/uuid.js'
import type { CommandStores } from './cli-stores.js'
import { accepted, defineCommand, findMerchant } from './command.js'
import { Refused, UsageError } from './failures.js'
import { amountText, columnsOnlyIn } from './listing.js'
import { amount, cursor, date, flag, option, pageOptions, path, reason, repeatable, required } from './options.js'
import { table } from './readable.js'
import { type InUnits, inUnits } from './units.js'

const accountArgument = { account: { description: 'the IBAN of the account' } }
const paymentArgument = { paymentId: { description: 'the id of the payment' } }
const days = {
  from: option('<date>', 'booked on or after this day, as the bank states it', date),
  to: option('<date>', 'booked on or before this day, as the bank states it', date),
}

/** Adds the commands for the statements of banks. */
export function addBankCommands(program: Command): void {
  const bank = program
    .command('bank')
    .description("import the bank's statements, and match their payments with transfers")
  addImport(bank)
  defineCommand(bank, 'payments', 'the payments of the statements, the latest day first', {
    examples: ['--open', '--account DE89370400440532013000 --from 2026-11-01 --to 2026-11-30 --json'],
    options: {
      account: option('<iban>', 'of this account'),
      open: flag('only payments that no one has decided about'),
      ...days,
      ...pageOptions(cursor),
    },
    async run(stores, { account, open, ...filter }) {
      const { bankAccounts, listBankPayments } = await import('../queries/bank-lists.js')
      const { bankPaymentOf } = await import('../read-models/bank-documents.js')
      const { listedPaymentView } = await import('../bank/bank-views.js')
      const readModels = await stores.readModels()
      const ids = account === undefined ? (await bankAccounts(readModels)).map(({ _id }) => _id) : [await idOf(account)]
      const page = await listBankPayments(readModels, { accountIds: ids, isOpen: open === true, ...filter })
      const items = page.items.map((each) => inUnits(listedPaymentView(bankPaymentOf(each))))
      return { items, nextCursor: page.nextCursor }
    },
    list: {
      columns: {
        paymentId: {},
        date: {},
        status: {},
        direction: {},
        amount: { cell: ({ amount, currency }) => amountText(amount, currency), align: 'right' },
        name: { max: 24 },
        remittance: { max: 40, cell: ({ remittance }) => remittance?.replaceAll('\n', ' ') ?? '' },
        uses: { head: 'TRANSFERS', cell: ({ uses }) => uses.map(({ trackingId }) => trackingId).join(' ') },
        ...columnsOnlyIn('wide and csv', 'accountNumber', 'bankReference', 'endToEndId', 'explanation', 'explainedBy'),
        ...columnsOnlyIn(
          'csv',
          'accountId',
          'currency',
          'isReversal',
          'isReturn',
          'returnReasonCode',
          'returnReasonText',
        ),
        ...columnsOnlyIn('csv', 'recordedAt'),
      },
      none: 'No payments.',
    },
    watch: true,
  })
  defineCommand(bank, 'show <paymentId>', 'a payment, and the transfers that it can belong to', {
    examples: ['DE89370400440532013000-2026-11-27-c-5000-1', 'DE89370400440532013000-2026-11-27-d-9500-1.2 --json'],
    args: paymentArgument,
    async run(stores, _, paymentId: string) {
      const sources = await sourcesOf(stores)
      const found = await sources.bank.payment(paymentId)
      if (!found) throw new Refused('bank-payment-unknown', refusalText({ rule: 'bank-payment-unknown', values: {} }))
      const { proposalSourcesOf } = await import('../bank/bank-statements.js')
      const { proposeUses } = await import('../commands/bank/propose.js')
      const { paymentView, proposalView } = await import('../bank/bank-views.js')
      const { merchantIds = null } = await sources.bank.account(found.payment.accountId)
      const using = await proposalSourcesOf(sources)(merchantIds)
      const proposals = await proposeUses(found, using, stores.context)
      return inUnits({ ...paymentView(found), proposals: proposals.map(proposalView) })
    },
    text: (shown) => `${paymentLines([shown])}\n`,
  })
  defineCommand(bank, 'use <paymentId> <trackingId>', 'use a payment for a transfer', {
    examples: [
      'DE89370400440532013000-2026-11-27-c-5000-1 7b0f2c1e',
      'DE89370400440532013000-2026-11-27-d-9500-1 7b0f2c1e --amount 45.00 --json',
    ],
    args: paymentArgument,
    options: {
      amount: option('<amount>', 'the part of an entry without named payments; all of it if omitted', amount),
    },
    async run(stores, { amount }, paymentId: string, trackingId: string) {
      const { bank } = await sourcesOf(stores)
      const { effect } = accepted(await bank.use(paymentId, trackingId, stores.context, amount))
      return { paymentId, trackingId, effect }
    },
  })
  defineCommand(bank, 'explain <paymentId>', 'explain money that belongs to no transfer', {
    examples: [
      'DE89370400440532013000-2026-11-27-d-1250-1 --reason "charges of the bank"',
      'DE89370400440532013000-2026-11-27-c-90000-1 --reason "capital, ticket 204" --json',
    ],
    args: paymentArgument,
    options: { reason: required(option('<text>', 'for auditors', reason)) },
    async run(stores, { reason }, paymentId: string) {
      const { bank } = await sourcesOf(stores)
      accepted(await bank.explain(paymentId, reason, stores.context))
      return { paymentId, explanation: reason }
    },
  })
  defineCommand(
    bank,
    'statements <account>',
    'the imported statements of an account, and the problems of their balances',
    {
      examples: ['DE89370400440532013000', 'DE89370400440532013000 --json'],
      args: accountArgument,
      async run(stores, _, account: string) {
        const { bank } = await sourcesOf(stores)
        const { statementView } = await import('../bank/bank-views.js')
        const { statementProblems } = await import('../domain/bank/bank-account.js')
        const { statements } = await bank.account(await idOf(account))
        const problems = statementProblems(statements)
        return statements.map((each) =>
          inUnits(statementView({ ...each, problems: problems.get(each.importId) ?? [] })),
        )
      },
      text: (statements) => statementTable(statements),
    },
  )
  defineCommand(bank, 'days <account>', 'the sums of an account by day, and their use', {
    examples: ['DE89370400440532013000', 'DE89370400440532013000 --from 2026-11-01 --to 2026-11-30 --json'],
    args: accountArgument,
    options: { ...days, ...pageOptions(cursor) },
    async run(stores, filter, account: string) {
      const { listBankDays } = await import('../queries/bank-lists.js')
      const { bankDayView } = await import('../bank/bank-views.js')
      const page = await listBankDays(await stores.readModels(), { accountIds: [await idOf(account)], ...filter })
      return { items: page.items.map((each) => inUnits(bankDayView(each))), nextCursor: page.nextCursor }
    },
    list: {
      columns: {
        date: {},
        files: { head: 'IN FILES', align: 'right' },
        debitBooked: { head: 'PAID OUT', align: 'right' },
        debitCompleted: { head: 'WITHDRAWALS', align: 'right' },
        debitExplained: { head: 'OUT EXPLAINED', align: 'right' },
        debitOpen: { head: 'OUT OPEN', align: 'right' },
        creditBooked: { head: 'PAID IN', align: 'right' },
        creditReceived: { head: 'DEPOSITS', align: 'right' },
        creditReturned: { head: 'CAME BACK', align: 'right' },
        creditExplained: { head: 'IN EXPLAINED', align: 'right' },
        creditOpen: { head: 'IN OPEN', align: 'right' },
        ...columnsOnlyIn('csv', 'accountId'),
      },
      none: 'No entries.',
    },
  })
  defineCommand(bank, 'accounts', 'the accounts of which a statement was imported', {
    examples: ['', '--json'],
    async run(stores) {
      const { bankAccounts } = await import('../queries/bank-lists.js')
      const accounts = await bankAccounts(await stores.readModels())
      return accounts.map(({ _id: accountId, merchantIds }) => ({ accountId, merchantIds }))
    },
    list: {
      columns: { accountId: {}, merchantIds: { cell: ({ merchantIds }) => merchantIds?.join(' ') ?? 'all merchants' } },
      none: 'No accounts.',
    },
  })
  defineCommand(bank, 'assign <account>', 'set whose transfers an account pays and receives', {
    examples: ['DE89370400440532013000 --merchant f5ebe0d2', 'DE89370400440532013000 --all-merchants --json'],
    args: accountArgument,
    options: {
      merchant: option('<id>', 'one of the merchants; repeatable', repeatable(storedUuid)),
      allMerchants: flag('all merchants'),
    },
    async run(stores, { merchant: merchants, allMerchants }, account: string) {
      if ((merchants === undefined) !== (allMerchants === true))
        throw new UsageError('either --merchant or --all-merchants is required')
      for (const each of merchants ?? []) await findMerchant(stores, each)
      const { bank } = await sourcesOf(stores)
      const accountId = await idOf(account)
      await bank.assignAccount(accountId, merchants ?? null, stores.context)
      return { accountId, merchantIds: merchants ?? null }
    },
  })
}

function addImport(bank: Command): void {
  defineCommand(bank, 'import <file>', "import a bank's file: camt.052, .053, .054, pain.002, MT940, MT942 or CSV", {
    examples: [
      'statement.xml --dry-run',
      'statement.csv --apply --account DE89370400440532013000 --csv-mapping bank.json',
    ],
    args: { file: { description: 'the file of the bank' } },
    options: {
      dryRun: flag('show what the file would do, and record nothing'),
      apply: flag('record every booked entry, and carry out the certain matches'),
      account: option('<iban>', 'the account, if the file does not state it'),
      csvMapping: option('<file>', "the columns of the bank's CSV files as JSON, recorded for the account", path),
    },
    async run(stores, { dryRun, apply, account, csvMapping }, file: string) {
      if (dryRun === apply) throw new UsageError('either --dry-run or --apply is required')
      const { fileAt, importFile } = await import('../bank/import-path.js')
      const { fileView } = await import('../bank/bank-views.js')
      const csv = csvMapping === undefined ? undefined : await mappingAt(csvMapping)
      const request = { mode: dryRun ? 'preview' : 'apply', account, csv, merchantIds: null } as const
      const sources = await sourcesOf(stores)
      return inUnits(fileView(accepted(await importFile(sources, fileAt(file), request, stores.context))))
    },
    text: fileText,
  })
}

/** @throws UsageError */
async function mappingAt(file: string): Promise<CsvMapping> {
  const { CsvMappingData } = await import('../domain/bank/bank-account.js')
  const { TypeCompiler } = await import('../kernel/typebox.js')
  let mapping: unknown
  try {
    mapping = JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new UsageError('the mapping is not JSON')
  }
  const check = TypeCompiler.Compile(CsvMappingData)
  const problem = check.Errors(mapping).First()
  if (problem) throw new UsageError(`the mapping is invalid at ${problem.path || '/'}`)
  return mapping as CsvMapping
}

/** @throws Refused */
async function idOf(account: string): Promise<string> {
  const { bankAccountId } = await import('../domain/bank/bank-account.js')
  const id = bankAccountId(account)
  if (id === undefined) throw new UsageError('the account must be an IBAN or an account number')
  return id
}

async function sourcesOf(stores: CommandStores): Promise<BankSources> {
  const { transfers, bank, configuration, clock } = stores
  return { bank, transfers, readModels: await stores.readModels(), currency: configuration.currency.code, clock }
}

function fileText({ statements, counts, payments, rejections }: FileView): string {
  const parts = [statementTable(statements).trimEnd()]
  const found = Object.entries(counts).flatMap(([name, count]) => (count > 0 ? [`${count} ${name}`] : []))
  parts.push(found.length === 0 ? 'No payments.' : `Payments: ${found.join(', ')}.`)
  if (payments.length > 0) parts.push(paymentLines(payments))
  for (const { fileId, endToEndId, reasonCode, reasonText, proposals, isApplied } of rejections) {
    const reason = [reasonCode, reasonText].filter(Boolean).join(' ')
    const done = isApplied ? 'recorded' : `${counted(proposals.length, 'withdrawal')} found`
    parts.push(`Rejected: ${endToEndId ?? `the file ${fileId}`} ${reason}: ${done}`)
  }
  return `${parts.join('\n\n')}\n`
}

function statementTable(statements: FileView['statements']): string {
  if (statements.length === 0) return 'No statements.\n'
  return table(statements, {
    ACCOUNT: 'accountId',
    FORMAT: 'format',
    NUMBER: 'number',
    FROM: 'firstDate',
    TO: 'lastDate',
    ENTRIES: { cell: 'entries', align: 'right' },
    NEW: { cell: 'newEntries', align: 'right' },
    PENDING: { cell: 'pendingEntries', align: 'right' },
    OPENING: {
      cell: ({ opening, currency }) => (opening ? amountText(opening.balance, currency) : ''),
      align: 'right',
    },
    CLOSING: {
      cell: ({ closing, currency }) => (closing ? amountText(closing.balance, currency) : ''),
      align: 'right',
    },
    PROBLEMS: ({ problems, currency }) => problems.map((each) => problemText(each, currency)).join('; '),
  })
}

function problemText(problem: FileView['statements'][number]['problems'][number], currency: string): string {
  const difference = amountText(problem.difference, currency)
  if (problem.problem === 'sum-differs') return `the entries and the balances differ by ${difference}`
  return `a statement after ${problem.after} is missing, over ${difference}`
}

type FileView = InUnits<BankFileView>
type Shown = InUnits<BankPaymentView> &
  Pick<FileView['payments'][number], 'proposals'> &
  Partial<Pick<FileView['payments'][number], 'applied'>>

function paymentLines(payments: readonly Shown[]): string {
  return payments
    .map(({ paymentId, amount, currency, name, remittance, status, proposals, applied = [] }) => {
      const text = remittance?.replaceAll('\n', ' ').slice(0, 60)
      const lines = [[paymentId, amountText(amount, currency), name, text].filter(Boolean).join('  ')]
      for (const { effect, refusal } of applied) lines.push(`  ${effect ?? refusal!.message}`)
      if (applied.length > 0) return lines.join('\n')
      if (status !== 'open') lines.push(`  ${status}`)
      for (const { trackingId, kind, reasons, isCertain, refusal } of proposals) {
        const words = reasons.map((each) => matchReasons[each]).join(', ')
        lines.push(`  ${isCertain ? 'certain' : 'possible'}: ${kind} ${trackingId}: ${words}`)
        if (refusal) lines.push(`    ${refusal.message}`)
      }
      if (status === 'open' && proposals.length === 0) lines.push('  no transfer fits')
      return lines.join('\n')
    })
    .join('\n')
}
