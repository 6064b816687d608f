import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyError, FastifyRequest } from 'fastify'
import { type BankSources, proposalSourcesOf, seesAccount } from '../../../bank/bank-statements.js'
import {
  bankDayView,
  fileView,
  type ProposalView,
  paymentView,
  proposalView,
  statementView,
} from '../../../bank/bank-views.js'
import { importFile } from '../../../bank/import-path.js'
import { BankFileError } from '../../../bank-formats/bank-file-error.js'
import { proposeUses } from '../../../commands/bank/propose.js'
import { bankAccountId, statementProblems } from '../../../domain/bank/bank-account.js'
import { type FoundPayment, statusOf } from '../../../domain/bank/bank-entries.js'
import type { Refused } from '../../../domain/decider.js'
import type { Violation } from '../../../domain/rules.js'
import { isStoredUuid, storedUuid } from '../../../kernel/uuid.js'
import { bankAccounts, listBankDays, listBankPayments } from '../../../queries/bank-lists.js'
import { cursorOf, limitOf } from '../../query-parameters.js'
import { invalid, RequestError, withNames } from '../../refusals.js'
import { sendFailure } from '../../server/error-handler.js'
import { endDeadline } from '../../server/request-deadline.js'
import { checkText } from '../../settlement-checks.js'
import { dashboardFailure, ruleOf } from '../dashboard-failure.js'
import { requireRecentSignIn } from '../payouts/settlement-routes.js'
import { actorNames, sees, userContext, withNamedActors } from '../session-guard.js'
import {
  BankAccountParams,
  BankAccountsResponse,
  BankDaysQuery,
  BankDaysResponse,
  BankExplanation,
  BankFileQuery,
  BankFileResponse,
  BankPayment,
  BankPaymentParams,
  BankPaymentsQuery,
  BankPaymentsResponse,
  BankStatementsResponse,
  BankUses,
  BankUsesResponse,
} from './bank-api.js'

/** Larger files are imported on the command line or from the watched directory. */
const maxFileBytes = 32 * 1024 * 1024
/** How long the transfers that were read for proposals are used for the next requests. */
const proposalsForMs = 5_000

/** Adds the statements of banks. A user sees the accounts that serve only merchants that the user sees. */
export const bankRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { bank, transfers, readModels, currency, clock, directory, monotonicMs } = app.services
  const sources: BankSources = { bank, transfers, readModels, currency: currency.code, clock }
  const read = app.viewers.allow('transfers:read')
  const settle = app.viewers.allow('transfers:settle', { recent: 'large payments' })
  const context = userContext

  /** Null if the user sees every merchant. */
  const visibleTo = ({ viewer }: FastifyRequest): readonly string[] | null =>
    directory.all().every(({ merchantId }) => sees(viewer, merchantId)) ? null : viewer.merchantIds
  const accountsOf = async (request: FastifyRequest) => {
    const visible = visibleTo(request)
    return (await bankAccounts(readModels)).filter(({ merchantIds }) => seesAccount(visible, merchantIds))
  }
  /** @throws RequestError unless the user sees the account */
  const accountIdsOf = async (request: FastifyRequest, account: string | undefined) => {
    const ids = (await accountsOf(request)).map(({ _id }) => _id)
    if (account === undefined) return ids
    const id = bankAccountId(account)
    if (id === undefined || !ids.includes(id)) throw new RequestError('unknown-bank-account')
    return [id]
  }
  /** @throws RequestError unless the user sees the payment */
  const seenPayment = async (request: FastifyRequest, paymentId: string): Promise<FoundPayment> => {
    const found = await bank.payment(paymentId)
    const { merchantIds } = found ? await bank.account(found.payment.accountId) : {}
    if (!found || merchantIds === undefined || !seesAccount(visibleTo(request), merchantIds))
      throw new RequestError('unknown-bank-payment')
    return found
  }
  let reading: { readonly sinceMs: number; readonly of: ReturnType<typeof proposalSourcesOf> } | undefined
  const proposalSources = (merchantIds: readonly string[] | null) => {
    const nowMs = monotonicMs()
    if (!reading || nowMs - reading.sinceMs > proposalsForMs)
      reading = { sinceMs: nowMs, of: proposalSourcesOf(sources) }
    return reading.of(merchantIds)
  }
  const shown = async (request: FastifyRequest, found: FoundPayment) => {
    const { merchantIds } = await bank.account(found.payment.accountId)
    const proposals =
      statusOf(found) === 'open'
        ? await proposeUses(found, await proposalSources(merchantIds ?? null), context(request))
        : []
    const nameOf = actorNames(request)
    const own = proposals.filter(({ transfer }) => sees(request.viewer, transfer.merchantId))
    const views = own
      .map(proposalView)
      .map((each) => ({ ...each, refusal: each.refusal && ruleOf(withNames(each.refusal, nameOf)) }))
    const view = paymentView(found)
    return {
      ...withNamedActors(view, nameOf),
      explainedBy: view.explainedBy && nameOf(view.explainedBy),
      proposals: views,
    }
  }

  const fileRoutes: FastifyPluginAsyncTypebox = async (files) => {
    files.removeAllContentTypeParsers()
    files.addContentTypeParser(
      'application/octet-stream',
      { parseAs: 'buffer', bodyLimit: maxFileBytes },
      (_, body, done) => done(null, body),
    )
    files.setErrorHandler((error, request, reply) =>
      sendFailure(files, refusalOf(error as Error), request, reply, dashboardFailure),
    )
    const options = { bodyLimit: maxFileBytes, ...settle({ querystring: BankFileQuery }, BankFileResponse) }
    files.post('/bank/files', options, async (request) => {
      // Thousands of entries and their matches take longer than a single change.
      endDeadline(request)
      const { body } = request
      if (!(body instanceof Buffer) || body.length === 0) throw new RequestError('no-bank-file')
      const { mode, account } = request.query
      if (mode === 'apply') app.viewers.requireRecent(request)
      const wanted = { mode, account, merchantIds: request.viewer.merchantIds, seesAll: visibleTo(request) === null }
      const result = await importFile(sources, { bytes: () => chunksOf(body) }, wanted, context(request))
      if (!result.accepted) throw rejected(result)
      // The list after an import must propose what the preview did.
      reading = undefined
      const nameOf = actorNames(request)
      const named = (refusal: Violation | null) => refusal && ruleOf(withNames(refusal, nameOf))
      const own = (all: readonly ProposalView[]) =>
        all
          .filter(({ merchantId }) => sees(request.viewer, merchantId))
          .map((each) => ({ ...each, refusal: named(each.refusal) }))
      const { payments, rejections, ...view } = fileView(result)
      return {
        ...view,
        payments: payments.map(({ proposals, applied, ...payment }) => ({
          ...withNamedActors(payment, nameOf),
          proposals: own(proposals),
          applied: applied.map(({ effect, refusal }) => ({ effect, refusal: named(refusal) })),
        })),
        rejections: rejections.map((each) => ({ ...each, proposals: own(each.proposals) })),
      }
    })
  }
  app.register(fileRoutes)
  app.get('/bank/payments', read({ querystring: BankPaymentsQuery }, BankPaymentsResponse), async (request) => {
    const { show, account, limit, cursor, from, to } = request.query
    const accountIds = await accountIdsOf(request, account)
    const page = { limit: limitOf(limit), cursor: cursorOf(cursor), from, to }
    const { items, nextCursor } = await listBankPayments(readModels, { accountIds, isOpen: show === 'open', ...page })
    // The log is current, the list may lag behind.
    const found = await Promise.all(items.map(({ _id }) => bank.payment(_id)))
    const payments = found.flatMap((each) => (each && (show === 'all' || statusOf(each) === 'open') ? [each] : []))
    return { items: await Promise.all(payments.map((each) => shown(request, each))), nextCursor }
  })
  app.get('/bank/payments/:paymentId', read({ params: BankPaymentParams }, BankPayment), async (request) =>
    shown(request, await seenPayment(request, request.params.paymentId)),
  )
  app.post('/bank/uses', settle({ body: BankUses }, BankUsesResponse), async (request) => {
    endDeadline(request)
    const wanted = []
    // Every item is checked first, because a failure would lose the results of earlier ones.
    for (const { paymentId, trackingId: given, amountMinor } of request.body.items) {
      await seenPayment(request, paymentId)
      const trackingId = storedUuid(given)
      const found = isStoredUuid(trackingId) ? await transfers.find(trackingId) : undefined
      if (!found || !sees(request.viewer, found.transfer.merchantId)) throw new RequestError('unknown-transfer')
      requireRecentSignIn(request, found.transfer)
      wanted.push({ paymentId, trackingId, amount: amountMinor === undefined ? undefined : BigInt(amountMinor) })
    }
    const items = []
    for (const { paymentId, trackingId, amount } of wanted) {
      const result = await bank.use(paymentId, trackingId, context(request), amount)
      const payment = await shown(request, await seenPayment(request, paymentId))
      const refusal = result.accepted ? null : ruleOf(withNames(result.refusal, actorNames(request)))
      items.push({ paymentId, trackingId, effect: result.accepted ? result.effect : null, refusal, payment })
    }
    return { items }
  })
  const explain = app.viewers.allow('transfers:settle')(
    { params: BankPaymentParams, body: BankExplanation },
    BankPayment,
  )
  app.post('/bank/payments/:paymentId/explain', explain, async (request) => {
    const { paymentId } = request.params
    const { explanation } = request.body
    checkText('explanation', explanation)
    await seenPayment(request, paymentId)
    const result = await bank.explain(paymentId, explanation, context(request))
    if (!result.accepted) throw rejected(result)
    return shown(request, await seenPayment(request, paymentId))
  })
  app.get('/bank/accounts', read({}, BankAccountsResponse), async (request) => {
    const accounts = await accountsOf(request)
    return { items: accounts.map(({ _id: accountId, merchantIds }) => ({ accountId, merchantIds })) }
  })
  const statements = read({ params: BankAccountParams }, BankStatementsResponse)
  app.get('/bank/accounts/:accountId/statements', statements, async (request) => {
    const [accountId] = await accountIdsOf(request, request.params.accountId)
    const { statements } = await bank.account(accountId!)
    const problems = statementProblems(statements)
    const views = statements.map((each) => statementView({ ...each, problems: problems.get(each.importId) ?? [] }))
    return { items: views.reverse() }
  })
  app.get('/bank/days', read({ querystring: BankDaysQuery }, BankDaysResponse), async (request) => {
    const { account, limit, cursor, from, to } = request.query
    const accountIds = await accountIdsOf(request, account)
    const filter = { accountIds, limit: limitOf(limit), cursor: cursorOf(cursor), from, to }
    const { items, nextCursor } = await listBankDays(readModels, filter)
    return { items: items.map(bankDayView), nextCursor }
  })
}

async function* chunksOf(body: Buffer): AsyncGenerator<Uint8Array> {
  const size = 64 * 1024
  for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size)
}

function rejected({ refusal }: Refused): RequestError {
  if (refusal.rule === 'bank-account-needed') return invalid('account', refusal.rule)
  return new RequestError('not-possible', { violation: refusal })
}

function refusalOf(error: Error): Error {
  if (error instanceof BankFileError) return new RequestError('bank-file-unreadable', { violation: error.violation })
  const { code } = error as Partial<FastifyError>
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new RequestError('bank-file-too-large')
  return code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' ? new RequestError('no-bank-file') : error
}
