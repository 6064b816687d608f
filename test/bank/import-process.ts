import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { pino } from 'pino'
import { importBankFile } from '../../src/bank/bank-statements.js'
import { BankCommands } from '../../src/commands/bank/bank-commands.js'
import { TooMuchContentionError } from '../../src/commands/handle-command.js'
import { startProjections } from '../../src/projections/start-projections.js'
import { collections } from '../../src/read-models/documents.js'
import { depositRequest, withdrawalRequest } from '../domain/transfer-samples.js'
import { openTestEventStore } from '../support/event-store.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { openTestReadModels } from '../support/read-models.js'
import { transferCommands } from '../support/transfer-commands.js'
import { until } from '../support/until.js'
import { asyncOf, bankContext, merchantId, payeeAccount } from './bank-world.js'
import { bankTruth, statementIn } from './random-bank.js'

/**
 * Creates the same transfers and imports the same statements of a bank in every run, and prints a line for each payment that it uses: the program
 * of interrupted-imports.test.ts, which kills it and starts it again.
 */

const [directory = '', seed = ''] = process.argv.slice(2)
const store = await openTestEventStore(directory)
const readModels = await openTestReadModels(join(directory, `lists-${process.pid}`))
const clock = () => new Date().toISOString()
const transfers = transferCommands(store, clock, async () => merchantSettings)
const mac = (purpose: string, text: string) => createHash('sha256').update(`${purpose} ${text}`).digest('base64url')
const bank = new BankCommands(store, clock, mac, transfers)
const projections = startProjections({ store, readModels, clock, logger: pino({ level: 'silent' }) })

let state = Number(seed)
/** Returns the same numbers for a seed. */
const number = (below: number) => {
  state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
  return (state >> 8) % below
}
const common = { merchantId, paymentMethod: 2 }
const withdrawals = []
for (let n = 0; n < 6; n++) {
  const amountMinor = BigInt(50_00 + number(3) * 10_00)
  const request = { ...withdrawalRequest, ...common, referenceId: `W-${n}`, amountMinor, accountNumber: payeeAccount }
  const created = await transfers.create(request, bankContext)
  if (!created.accepted) throw new Error(created.refusal.rule)
  const { trackingId, payout } = created.transfer as Extract<typeof created.transfer, { kind: 'withdrawal' }>
  let fileId = payout.files[0]?.messageId
  if (fileId === undefined) {
    const file = { format: 'csv', trackingIds: [trackingId], timeZone: 'UTC', underClaim: false } as const
    const produced = await transfers.produceBankFile(file, { code: 'EUR', decimals: 2 }, bankContext)
    if (!produced.accepted) throw new Error(produced.problems[0]!.rule)
    fileId = produced.messageId
  }
  withdrawals.push({ trackingId, amountMinor, fileId })
}
const deposits = []
for (let n = 0; n < 6; n++) {
  const [referenceId, amountMinor] = [`ORDER-7700-${n}`, BigInt(50_00 + number(3) * 10_00)]
  const request = { ...depositRequest, ...common, referenceId, amountMinor, expiryMinutes: 10_000 }
  const created = await transfers.create(request, bankContext)
  if (!created.accepted) throw new Error(created.refusal.rule)
  deposits.push({ trackingId: created.transfer.trackingId, referenceId, amountMinor })
}
const count = withdrawals.length + deposits.length
const listed = readModels.collection(collections.transfers)
await until(async () => (await listed.countDocuments({ merchantId })) === count, 120_000)
const truth = bankTruth(number, withdrawals, deposits)
const printing = new Proxy(bank, {
  get(target, name) {
    if (name === 'use') return use
    const value = target[name as keyof typeof target]
    return typeof value === 'function' ? value.bind(target) : value
  },
})
const sources = { bank: printing, transfers, readModels, currency: 'EUR', clock }
for (const family of ['mt', 'camt', 'csv', 'camt'] as const) await importOnce(family)

/** Repeats an import that another process disturbed ten times, as its caller would. */
async function importOnce(family: 'mt' | 'camt' | 'csv'): Promise<void> {
  const records = asyncOf([...statementIn(family, truth.entries), ...truth.rejections])
  const request = { records, sha256: family, mode: 'apply', merchantIds: null } as const
  try {
    const result = await importBankFile(sources, request, bankContext)
    if (!result.accepted) throw new Error(result.refusal.rule)
  } catch (error) {
    if (!(error instanceof TooMuchContentionError)) throw error
    await importOnce(family)
  }
}
process.stdout.write(`${JSON.stringify({ done: count })}\n`)
await projections.stop()
await readModels.close()
await store.close()

async function use(...args: Parameters<typeof bank.use>): ReturnType<typeof bank.use> {
  process.stdout.write(`${JSON.stringify({ using: args[0] })}\n`)
  const result = await bank.use(...args)
  process.stdout.write(`${JSON.stringify({ used: args[0] })}\n`)
  return result
}
