import { bankAccountId, type ImportedStatement } from '../../domain/bank/bank-account.js'
import {
  type BankEntries,
  bankEntriesDecider,
  entriesIdOf,
  type FoundPayment,
  paymentIn,
} from '../../domain/bank/bank-entries.js'
import { familyOf, recordEntries } from '../../domain/bank/bank-imports.js'
import type {
  BankEntry,
  BankRecord,
  PaymentStatus,
  StatementEnd,
  StatementStart,
} from '../../domain/bank/bank-records.js'
import { type Refused, refuse } from '../../domain/decider.js'
import { bankEntriesStream } from '../../domain/streams.js'
import { encodeEvent } from '../../event-store/event-codec.js'
import { type CommandContext, type Loaded, retryOnConflict } from '../handle-command.js'
import type { BankCommands } from './bank-commands.js'

interface ImportRequest {
  readonly records: AsyncIterable<BankRecord>
  /** The SHA-256 of the file in hex. */
  readonly sha256: string
  /** The account, if the file does not state it. */
  readonly account: string | undefined
  /** The currency of a file that states none. */
  readonly currency: string
  /** Whether nothing is recorded. */
  readonly isDryRun: boolean
  /** Returns whether the account can be imported by this user. Called once for each statement. */
  readonly allows: (accountId: string) => Promise<boolean>
  /** Receives the payments of the file, in its order, after they are recorded. */
  readonly onPayments: (payments: readonly FoundPayment[], accountId: string) => Promise<void>
  readonly onStatus: (status: PaymentStatus) => Promise<void>
}

export type StatementSummary = Omit<ImportedStatement, 'by' | 'at'>
type ImportResult = { readonly accepted: true; readonly statements: readonly StatementSummary[] } | Refused

/** The maximum number of entries that are compared together. Those of one day are, unless there are more. */
const maxCompared = 5_000
const maxAppends = 200

/**
 * Records what a file of a bank states: each booked entry once, regardless of how many files contain it. It can be repeated at any time, and
 * continues if an earlier import of the file was interrupted. @throws StoreUnavailableError, and what `records` throws; then entries that were read before are recorded
 */
export async function importStatements(
  commands: BankCommands,
  request: ImportRequest,
  context: CommandContext,
): Promise<ImportResult> {
  const statements: StatementSummary[] = []
  let current: StatementImport | undefined
  for await (const record of request.records) {
    switch (record.type) {
      case 'statement': {
        const accountId = accountOf(record, request)
        if (typeof accountId !== 'string') return accountId
        if (!(await request.allows(accountId)))
          return refuse('conflict', 'bank-account-forbidden', { account: accountId })
        const importId = `${request.sha256.slice(0, 40)}-${statements.length + 1}`
        current = new StatementImport(commands, request, record, accountId, importId, context)
        break
      }
      case 'entry':
        await current!.add(record)
        break
      case 'statement-end':
        statements.push(await current!.end(record))
        break
      default:
        await request.onStatus(record)
    }
  }
  return { accepted: true, statements }
}

function accountOf({ account }: StatementStart, { account: given }: ImportRequest): string | Refused {
  const [stated, named] = [account ?? undefined, given].map((text) =>
    text === undefined ? undefined : bankAccountId(text),
  )
  if (stated !== undefined && named !== undefined && stated !== named)
    return refuse('conflict', 'bank-account-differs', { account: stated })
  return stated ?? named ?? refuse('conflict', 'bank-account-needed')
}

class StatementImport {
  /** The entries of one day that are not recorded yet. */
  #waiting: BankEntry[] = []
  /** The recorded entries that entries of this statement are. */
  readonly #taken = new Set<string>()
  /** Without recording: the entries as they would be after this statement. */
  readonly #planned = new Map<string, Loaded<BankEntries>>()
  readonly #summary
  #firstDate: string | null = null
  #lastDate: string | null = null
  #currency: string | null

  constructor(
    private readonly commands: BankCommands,
    private readonly request: ImportRequest,
    private readonly start: StatementStart,
    private readonly accountId: string,
    private readonly importId: string,
    private readonly context: CommandContext,
  ) {
    this.#currency = start.currency
    this.#summary = { creditMinor: 0n, debitMinor: 0n, entries: 0, newEntries: 0, pendingEntries: 0 }
  }

  async add(entry: BankEntry): Promise<void> {
    if (entry.status === 'pending') {
      this.#summary.pendingEntries++
      return
    }
    // Banks report charges of 0.
    if (entry.amountMinor === 0n) return
    const { date, currency, direction, amountMinor } = entry
    this.#currency ??= currency
    if (direction === 'credit') this.#summary.creditMinor += amountMinor
    else this.#summary.debitMinor += amountMinor
    this.#summary.entries++
    if (this.#firstDate === null || date < this.#firstDate) this.#firstDate = date
    if (this.#lastDate === null || date > this.#lastDate) this.#lastDate = date
    if (this.#waiting.length >= maxCompared || (this.#waiting[0] && this.#waiting[0].date !== date))
      await this.#record()
    this.#waiting.push(entry)
  }

  async end({ opening, closing }: StatementEnd): Promise<StatementSummary> {
    await this.#record()
    const { format, statementId, number } = this.start
    const currency = this.#currency ?? closing?.currency ?? opening?.currency ?? this.request.currency
    const balances = [opening, closing].map((each) => each && { balanceMinor: each.amountMinor, date: each.date })
    const summary = {
      ...{ accountId: this.accountId, importId: this.importId, format, statementId, number, currency },
      ...{ firstDate: this.#firstDate, lastDate: this.#lastDate },
      ...{ opening: balances[0] ?? null, closing: balances[1] ?? null },
      ...this.#summary,
    }
    if (!this.request.isDryRun) await this.commands.recordStatement(summary, this.context)
    return summary
  }

  async #record(): Promise<void> {
    // A preview of a larger file that returns to an earlier day counts the entries of that day again.
    if (this.#planned.size > maxCompared) this.#planned.clear()
    const groups = new Map<string, BankEntry[]>()
    for (const entry of this.#waiting) {
      const id = entriesIdOf({ ...entry, accountId: this.accountId })
      const group = groups.get(id)
      if (group) group.push(entry)
      else groups.set(id, [entry])
    }
    this.#waiting = []
    const all = [...groups]
    for (let n = 0; n < all.length; n += maxAppends) await this.#recordGroups(all.slice(n, n + maxAppends))
  }

  async #recordGroups(groups: readonly (readonly [string, readonly BankEntry[]])[]): Promise<void> {
    const { commands, request, context, accountId, importId } = this
    const source = { accountId, importId, family: familyOf(this.start.format), at: commands.clock() }
    const recorded = await retryOnConflict(`entries of ${accountId}`, async () => {
      const found = await Promise.all(
        groups.map(async ([id, entries]) => {
          const planned = this.#planned.get(id)
          const loaded = planned ?? (await commands.entries(id))
          return { id, loaded, ...recordEntries(entries, loaded.state, this.#taken, source, commands.mac) }
        }),
      )
      const appends = found.flatMap(({ id, loaded, events }) => {
        if (events.length === 0) return []
        const encoded = events.map((event) => encodeEvent(event, context))
        return [{ stream: bankEntriesStream(id), expectedRevision: loaded.revision, events: encoded }]
      })
      if (!request.isDryRun && appends.length > 0) await commands.store.appendInOrder(appends)
      return found
    })
    const payments: FoundPayment[] = []
    for (const { id, loaded, events, entryIds, newEntries } of recorded) {
      const state = events.reduce(bankEntriesDecider.evolve, loaded.state)
      if (request.isDryRun) this.#planned.set(id, { ...loaded, state })
      this.#summary.newEntries += newEntries
      for (const entryId of entryIds) {
        this.#taken.add(entryId)
        const known = state.find((each) => each.entryId === entryId)!
        payments.push(...known.payments.map(({ payment }) => paymentIn(state, payment.paymentId)!))
      }
    }
    await request.onPayments(payments, accountId)
  }
}
