import { createHash } from 'node:crypto'
import type { Test } from 'tap'
import { type BankSources, type FileRequest, importBankFile } from '../../src/bank/bank-statements.js'
import { BankCommands } from '../../src/commands/bank/bank-commands.js'
import type { BankEntry, BankPayment, BankRecord, StatementStart } from '../../src/domain/bank/bank-records.js'
import { startProjections } from '../../src/projections/start-projections.js'
import { depositRequest, withdrawalRequest } from '../domain/transfer-samples.js'
import { testStores } from '../projections/stores.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { transferCommands } from '../support/transfer-commands.js'

export const merchantId = '0f0e3cf9-2f6c-4c8e-9d3b-1f6f7a2a9b10'
export const accountId = 'DE89370400440532013000'
export const payeeAccount = 'DE02120300000000202051'
export const bankContext = { actor: 'user:ada', $correlationId: 'c', $causationId: 'c' }
/** The code of a manual method of deposits and withdrawals. */
const manualMethod = 2

const nothing: BankPayment = {
  ...{ amountMinor: null, endToEndId: null, bankReference: null, name: null, account: null, remittance: [] },
  ...{ creditorReference: null, instructed: null, chargesMinor: null, returned: null },
}

export function entryOf(changes: Partial<BankEntry> & { readonly payment?: Partial<BankPayment> } = {}): BankEntry {
  const { payment, ...entry } = changes
  return {
    ...{ type: 'entry', number: 1, status: 'booked', direction: 'credit', isReversal: false, amountMinor: 100_00n },
    ...{ currency: 'EUR', date: '2026-03-02', bankReference: null, kind: null, text: null, fileId: null },
    ...{ paymentCount: null, payments: payment ? [{ ...nothing, ...payment }] : [] },
    ...entry,
  }
}

export function statementOf(
  entries: readonly BankEntry[],
  changes: Partial<StatementStart> = {},
): readonly BankRecord[] {
  const start: StatementStart = {
    ...{ type: 'statement', format: 'camt.053', account: accountId, currency: 'EUR', statementId: null, number: null },
    ...changes,
  }
  return [start, ...entries, { type: 'statement-end', opening: null, closing: null }]
}

export async function bankWorld(t: Test, settings = merchantSettings) {
  const stores = await testStores(t)
  const { store, readModels, clock } = stores
  const transfers = transferCommands(store, clock, async () => settings)
  const mac = (purpose: string, text: string) => createHash('sha256').update(`${purpose} ${text}`).digest('base64url')
  const bank = new BankCommands(store, clock, mac, transfers)
  const projections = startProjections(stores)
  t.teardown(() => projections.stop())
  const sources: BankSources = { bank, transfers, readModels, currency: 'EUR', clock }
  let files = 0
  return {
    ...stores,
    ...sources,
    sources,
    async deposit(referenceId: string, amountMinor = 100_00n) {
      const request = { ...depositRequest, merchantId, referenceId, amountMinor, paymentMethod: manualMethod }
      return created(await transfers.create({ ...request, expiryMinutes: 10_000 }, bankContext))
    },
    async withdrawal(referenceId: string, amountMinor = 100_00n) {
      const request = { ...withdrawalRequest, merchantId, referenceId, amountMinor, accountNumber: payeeAccount }
      return created(await transfers.create({ ...request, paymentMethod: manualMethod }, bankContext))
    },
    /** Puts withdrawals into a file, and returns its id. */
    async bankFile(trackingIds: readonly string[], actor = 'user:grace') {
      const request = { format: 'csv', trackingIds, timeZone: 'Europe/Berlin', underClaim: false } as const
      const file = await transfers.produceBankFile(request, { code: 'EUR', decimals: 2 }, { ...bankContext, actor })
      if (!file.accepted) throw new Error(file.problems[0]!.rule)
      return file.messageId
    },
    async statusOf(trackingId: string) {
      return (await transfers.find(trackingId))!.transfer.status
    },
    /** Imports records as a separate file, after the lists show everything. */
    async importRecords(records: readonly BankRecord[], changes: Partial<FileRequest> = {}) {
      await stores.caughtUp(['transfers'])
      const sha256 = createHash('sha256').update(String(files++)).digest('hex')
      const request = { records: asyncOf(records), sha256, mode: 'apply', merchantIds: null, ...changes } as const
      const result = await importBankFile(sources, request, bankContext)
      if (!result.accepted) throw new Error(result.refusal.rule)
      return result
    },
  }
}

export async function* asyncOf<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items
}

function created(result: Awaited<ReturnType<ReturnType<typeof transferCommands>['create']>>): string {
  if (!result.accepted) throw new Error(result.refusal.rule)
  return result.transfer.trackingId
}
