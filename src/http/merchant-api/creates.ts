import type { FastifyRequest } from 'fastify'
import type { DepositRequest, HashOfRequest, TransferResult, WithdrawalRequest } from '../../commands/transfers.js'
import type { Merchant } from '../../domain/merchant/merchant.js'
import { toJsonNumber } from '../../domain/money.js'
import type { DepositChannel, TransferKind } from '../../domain/transfer/events.js'
import { type Deposit, statusCodes, type Transfer } from '../../domain/transfer/transfer.js'
import type { HttpDependencies } from '../dependencies.js'
import { failures, RequestError, successEnvelope } from '../errors.js'
import { payPageUrl } from '../payment-page/pay-page-link.js'
import type { Gate } from '../plugins/gate.js'
import type { HttpMetrics } from '../plugins/metrics.js'
import { contextOf } from '../request-context.js'
import { type CheckedAmount, CreateRequestChecks } from './create-request.js'
import type { HostedDeposit, NativeDeposit, Withdrawal } from './create-schemas.js'
import { hashedAmountText } from './hash-check.js'
import { noteSecretKey } from './secret-key-check.js'
import { isSignatureValid } from './signature-check.js'

/** More merchants than this behind one address cannot be told apart by hash at a reasonable cost: they send their key. */
const maxCandidates = 100

type Hashed = Pick<NativeDeposit, 'hashCode' | 'referenceId'>

/** A request's hashCode, and the amount text it is made of; `proven` when a secret of today makes it. */
interface CheckedHash extends HashOfRequest {
  readonly proven: boolean
}

/**
 * What the three creates answer. A repeat of an accepted create answers as the first did, whatever changed since: only when
 * today's settings refuse is it asked whether the same was created before, so that a new one costs no look-up.
 */
export class Creates {
  private readonly depositChecks: CreateRequestChecks
  private readonly withdrawalChecks: CreateRequestChecks

  constructor(
    private readonly deps: HttpDependencies,
    private readonly gate: Gate,
    private readonly metrics: HttpMetrics,
  ) {
    this.depositChecks = new CreateRequestChecks(deps, 'deposit')
    this.withdrawalChecks = new CreateRequestChecks(deps, 'withdrawal')
  }

  async hosted(request: FastifyRequest) {
    const amount = this.depositChecks.check(request, request.merchant)
    const transfer = (await (request.merchant
      ? this.deposit(request, request.merchant, amount, 'hosted')
      : this.hostedByAddress(request, amount))) as Deposit
    const { trackingId, referenceId, status, statusDescription, amount: number } = created(transfer)
    const url = payPageUrl(this.deps, trackingId)
    return { url, trackingId, referenceId, status, statusDescription, amount: number, expiresAt: transfer.expiresAt }
  }

  async native(request: FastifyRequest) {
    const merchant = request.merchant!
    const amount = this.depositChecks.check(request, merchant)
    return successEnvelope(created(await this.deposit(request, merchant, amount, 'native')))
  }

  async withdrawal(request: FastifyRequest) {
    const merchant = request.merchant!
    const amount = this.withdrawalChecks.check(request, merchant)
    const body = request.body as Withdrawal
    const { userId, name, username, referenceId, paymentMethod, accountNumber, identityNumber } = body
    const hash = this.checkHash(merchant, body, amount)
    await noteSecretKey(this.deps, request, merchant, amount)
    const withdrawal: WithdrawalRequest = {
      merchantId: merchant.merchantId,
      mayHaveUnclaimed: !merchant.requestsClaimed,
      referenceId,
      amountMinor: amount.amountMinor,
      userId,
      name,
      username,
      paymentMethod,
      told: merchant.settings.callbackOnCreate,
      accountNumber,
      identityNumber: identityNumber ?? null,
      hash,
    }
    const { transfers } = this.deps
    const refused =
      this.withdrawalChecks.refusal(body, amount, merchant) ??
      hashRefusal(hash, true) ??
      this.signatureRefusal(request, merchant, 'withdrawal')
    if (refused) {
      return successEnvelope(created((await transfers.withdrawalBefore(withdrawal, unproven(hash))) ?? raise(refused)))
    }
    const result = await transfers.createWithdrawal(withdrawal, contextOf(request))
    return successEnvelope(created(this.accepted(result, 'withdrawal')))
  }

  private async deposit(
    request: FastifyRequest,
    merchant: Merchant,
    amount: CheckedAmount,
    channel: DepositChannel,
  ): Promise<Transfer> {
    const body = request.body as NativeDeposit
    const hash = this.checkHash(merchant, body, amount)
    await noteSecretKey(this.deps, request, merchant, amount)
    const deposit = depositOf(body, merchant, amount, channel, hash)
    const refused =
      this.depositChecks.refusal(body, amount, merchant) ??
      hashRefusal(hash, channel === 'hosted' || merchant.settings.requireNativeHash) ??
      this.signatureRefusal(request, merchant, 'deposit')
    if (refused) return (await this.deps.transfers.depositBefore(deposit, unproven(hash))) ?? raise(refused)
    return this.accepted(await this.deps.transfers.createDeposit(deposit, contextOf(request)), channel)
  }

  /** Without a WebApiKey: for the one merchant that may call from this address and whose secret makes this hash. */
  private async hostedByAddress(request: FastifyRequest, amount: CheckedAmount): Promise<Transfer> {
    const body = request.body as HostedDeposit
    const candidates = this.deps.directory.byAddress(request.ip)
    // One that is out of service may be who calls.
    const problem = this.deps.directory.problemAt(request.ip)
    if (candidates.length === 0) throw problem ?? new RequestError(failures.addressNotAllowed)
    if (candidates.length > maxCandidates) {
      const details = 'Too many merchants call from this address; send your WebApiKey.'
      throw new RequestError(failures.addressNotAllowed, { details })
    }
    const matching = candidates.filter((merchant) => this.checkHash(merchant, body, amount)?.proven)
    // Before the look-ups: what an address may fail with is counted too late to keep it from having them made.
    if (matching.length === 0) this.gate.chargeAddress(request)
    const [merchant] = matching.length === 0 ? await this.whoseBefore(candidates, body, amount) : matching
    if (!merchant && problem) throw problem
    if (!merchant || matching.length > 1) throw hashMismatch()
    this.gate.admit(request, merchant)
    return this.deposit(request, merchant, amount, 'hosted')
  }

  /** The merchants with this very deposit, of before the secret that made its hash was rotated out; at most one, but for chance. */
  private async whoseBefore(
    candidates: readonly Merchant[],
    body: HostedDeposit,
    amount: CheckedAmount,
  ): Promise<readonly Merchant[]> {
    const hash = { hashCode: body.hashCode, amountText: amount.amountText, proven: false }
    const found = await Promise.all(
      candidates.map(async (merchant) => {
        const deposit = depositOf(body, merchant, amount, 'hosted', hash)
        return (await this.deps.transfers.depositBefore(deposit, hash)) ? [merchant] : []
      }),
    )
    return found.flat()
  }

  private accepted(result: TransferResult, channel: DepositChannel | 'withdrawal'): Transfer {
    if (result.accepted) {
      if (result.changed) this.metrics.created(channel)
      return result.transfer
    }
    throw new RequestError(result.refusal.reason === 'hash-reused' ? failures.hashReused : failures.conflict)
  }

  /** Undefined when the request carries none. */
  private checkHash(
    merchant: Merchant,
    { hashCode, referenceId }: Hashed,
    amount: CheckedAmount,
  ): CheckedHash | undefined {
    if (hashCode === undefined) return undefined
    const secrets = this.deps.directory.secrets(merchant, 'secretKey')
    const amountText = hashedAmountText({ hashCode, referenceId, ...amount }, secrets)
    return { hashCode, amountText: amountText ?? amount.amountText, proven: amountText !== undefined }
  }

  private signatureRefusal(request: FastifyRequest, merchant: Merchant, kind: TransferKind): RequestError | undefined {
    const signature = request.headers['x-signature']
    const { requireSignature } = merchant.settings
    const isRequired = requireSignature === 'all' || (requireSignature === 'withdrawals' && kind === 'withdrawal')
    if (signature === undefined && !isRequired) return undefined
    const secrets = this.deps.directory.secrets(merchant, 'secretKey')
    const nowMs = Date.parse(this.deps.clock())
    const isValid = typeof signature === 'string' && isSignatureValid(signature, request.rawBody!, secrets, nowMs)
    return isValid ? undefined : new RequestError(failures.signatureMismatch)
  }
}

function depositOf(
  body: NativeDeposit,
  merchant: Merchant,
  { amountMinor }: CheckedAmount,
  channel: DepositChannel,
  hash: HashOfRequest | undefined,
): DepositRequest {
  const { userId, name, username, referenceId, paymentMethod } = body
  return {
    merchantId: merchant.merchantId,
    mayHaveUnclaimed: !merchant.requestsClaimed,
    referenceId,
    amountMinor,
    userId,
    name,
    username,
    paymentMethod,
    told: merchant.settings.callbackOnCreate,
    channel,
    expiryMinutes: merchant.settings.depositExpiryMinutes,
    hash,
  }
}

function hashRefusal(hash: CheckedHash | undefined, isRequired: boolean): RequestError | undefined {
  if (hash) return hash.proven ? undefined : hashMismatch()
  if (!isRequired) return undefined
  const message = 'hashCode is required'
  return new RequestError(failures.invalidRequest, { validationErrors: [{ message, members: ['hashCode'] }] })
}

function unproven(hash: CheckedHash | undefined): HashOfRequest | undefined {
  return hash?.proven === false ? hash : undefined
}

function hashMismatch(): RequestError {
  const { message } = failures.hashMismatch
  return new RequestError(failures.hashMismatch, { validationErrors: [{ message, members: ['hashCode'] }] })
}

function raise(refused: RequestError): never {
  throw refused
}

/** The first answer, whatever became of the transfer since: a repeat says what the lost answer would have said. */
function created({ trackingId, referenceId, amountMinor }: Transfer) {
  return {
    trackingId,
    transactionId: trackingId,
    referenceId,
    status: statusCodes.Pending,
    statusDescription: 'Pending',
    amount: toJsonNumber(amountMinor),
  }
}
