import { type BankCommands, rejectionMatch, type UseResult } from '../commands/bank/bank-commands.js'
import { importStatements, type StatementSummary } from '../commands/bank/import-statements.js'
import { type ProposalSources, type ProposedUse, proposeRejections, proposeUses } from '../commands/bank/propose.js'
import type { CommandContext } from '../commands/handle-command.js'
import type { TransferCommands } from '../commands/transfer/transfers.js'
import { type StatementProblem, statementProblems } from '../domain/bank/bank-account.js'
import { type FoundPayment, type PaymentStatus, statusOf } from '../domain/bank/bank-entries.js'
import type { BankRecord, PaymentStatus as Rejection } from '../domain/bank/bank-records.js'
import type { Refused } from '../domain/decider.js'
import type { Transfer } from '../domain/transfer/transfer.js'
import type { Clock } from '../kernel/time.js'
import { matchCandidates } from '../queries/match-candidates.js'
import type { ReadModels } from '../read-models/read-models.js'

export interface BankSources {
  readonly bank: BankCommands
  readonly transfers: TransferCommands
  readonly readModels: ReadModels
  readonly currency: string
  readonly clock: Clock
}

export interface FileRequest {
  readonly records: AsyncIterable<BankRecord>
  /** The SHA-256 of the file in hex. */
  readonly sha256: string
  /** The account, if the file does not state it. */
  readonly account?: string | undefined
  /** `preview`: nothing is recorded. `record`: the entries. `apply`: the entries, and every certain match. */
  readonly mode: 'preview' | 'record' | 'apply'
  /** The merchants of the user; null for all. A new account serves them. */
  readonly merchantIds: readonly string[] | null
  /** Whether these are all merchants at present. */
  readonly seesAll?: boolean
}

export interface PaymentResult {
  readonly found: FoundPayment
  readonly status: PaymentStatus
  readonly proposals: readonly ProposedUse[]
  /** The effect of each use, or why the transfer rejected it. */
  readonly results: readonly UseResult[]
}

export interface RejectionResult {
  readonly rejection: Rejection
  readonly proposals: readonly ProposedUse[]
  readonly isApplied: boolean
}

/** `certain` and `uncertain` count open payments with proposals, `unknown` those without any. */
export type PaymentCounts = Readonly<
  Record<'used' | 'explained' | 'certain' | 'uncertain' | 'unknown' | 'applied', number>
>

export type FileResult =
  | {
      readonly accepted: true
      readonly statements: readonly (StatementSummary & { readonly problems: readonly StatementProblem[] })[]
      readonly counts: PaymentCounts
      /** The payments that are open, or were until now, at most {@link maxShown}. */
      readonly payments: readonly PaymentResult[]
      /** At most {@link maxShown}. */
      readonly rejections: readonly RejectionResult[]
    }
  | Refused

export const maxShown = 1_000

/**
 * Imports a file of a bank, and proposes or applies what its payments mean for transfers. It can be repeated: each payment is used once.
 * @throws BankFileError, StoreUnavailableError, ReadModelsUnavailableError
 */
export async function importBankFile(
  sources: BankSources,
  request: FileRequest,
  context: CommandContext,
): Promise<FileResult> {
  const { bank, transfers, currency } = sources
  const { mode, merchantIds: visible, seesAll = false } = request
  const planned = new Map<string, Transfer>()
  const proposalSources = proposalSourcesOf(sources, planned)
  const counts = { used: 0, explained: 0, certain: 0, uncertain: 0, unknown: 0, applied: 0 }
  const payments: PaymentResult[] = []
  const rejections: RejectionResult[] = []

  const onPayments = async (all: readonly FoundPayment[], accountId: string) => {
    const { merchantIds = visible } = await bank.account(accountId)
    const using = await proposalSources(merchantIds)
    for (const found of all) {
      const status = statusOf(found)
      if (status === 'superseded') continue
      if (status === 'applying' && mode !== 'preview') await bank.resume(found.payment.paymentId, context)
      if (status !== 'open') {
        counts[status === 'explained' ? 'explained' : 'used']++
        continue
      }
      const proposals = await proposeUses(found, using, context)
      const certain = proposals.filter((each) => each.isCertain && each.refusal === undefined)
      const results: UseResult[] = []
      for (const { trackingId, amountMinor, after } of certain) {
        if (mode === 'apply') results.push(await bank.use(found.payment.paymentId, trackingId, context, amountMinor))
        else planned.set(trackingId, after)
      }
      counts[kindOf(proposals)]++
      if (results.length > 0 && results.every(({ accepted }) => accepted)) counts.applied++
      if (payments.length < maxShown) payments.push({ found, status, proposals, results })
    }
  }
  const onStatus = async (rejection: Rejection) => {
    if (rejection.status !== 'rejected') return
    const proposals = await proposeRejections(rejection, await proposalSources(visible), context)
    let isApplied = false
    for (const { trackingId, isCertain, refusal } of proposals) {
      if (mode !== 'apply' || !isCertain || refusal) continue
      const { accepted } = await transfers.matchBankPayment(trackingId, rejectionMatch(rejection), context)
      isApplied ||= accepted
    }
    if (rejections.length < maxShown) rejections.push({ rejection, proposals, isApplied })
  }
  const allows = async (accountId: string) => {
    const { merchantIds } = await bank.account(accountId)
    if (merchantIds === undefined && mode !== 'preview') await bank.assignAccount(accountId, visible, context)
    return merchantIds === undefined || seesAll || seesAccount(visible, merchantIds)
  }
  const isDryRun = mode === 'preview'
  const { records, sha256, account } = request
  const importing = { records, sha256, account, currency, isDryRun, allows, onPayments, onStatus }
  const result = await importStatements(bank, importing, context)
  if (!result.accepted) return result
  const problems = await problemsOf(bank, result.statements, isDryRun)
  const statements = result.statements.map((each) => ({ ...each, problems: problems.get(each.importId) ?? [] }))
  return { accepted: true, statements, counts, payments, rejections }
}

/** Returns whether a user who sees these merchants (null for all) sees an account that serves those. */
export function seesAccount(visible: readonly string[] | null, served: readonly string[] | null): boolean {
  if (visible === null) return true
  return served?.every((merchantId) => visible.includes(merchantId)) ?? false
}

function kindOf(proposals: readonly ProposedUse[]): 'certain' | 'uncertain' | 'unknown' {
  if (proposals.length === 0) return 'unknown'
  return proposals.some(({ isCertain, refusal }) => isCertain && !refusal) ? 'certain' : 'uncertain'
}

/** Returns a function that reads the transfers of merchants once. */
export function proposalSourcesOf(
  { transfers, readModels, currency, clock }: BankSources,
  planned = new Map<string, Transfer>(),
) {
  const known = new Map<string, Promise<ProposalSources>>()
  return (merchantIds: readonly string[] | null): Promise<ProposalSources> => {
    const key = JSON.stringify(merchantIds)
    const reading =
      known.get(key) ??
      matchCandidates(readModels, transfers.rules.paymentMethods, merchantIds, clock()).then((candidates) => {
        return { transfers, candidates, merchantIds, planned, currency }
      })
    known.set(key, reading)
    return reading
  }
}

async function problemsOf(bank: BankCommands, statements: readonly StatementSummary[], isDryRun: boolean) {
  const problems = new Map<string, readonly StatementProblem[]>()
  for (const accountId of new Set(statements.map((each) => each.accountId))) {
    const recorded = (await bank.account(accountId)).statements
    const ids = new Set(recorded.map(({ importId }) => importId))
    const added = isDryRun ? statements.filter((each) => each.accountId === accountId && !ids.has(each.importId)) : []
    const all = [...recorded, ...added.map((each) => ({ ...each, by: '', at: '9' }))]
    for (const [importId, found] of statementProblems(all)) problems.set(importId, found)
  }
  return problems
}
