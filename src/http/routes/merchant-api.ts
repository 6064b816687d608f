import type { FastifyRequest } from 'fastify'
import type { TransferResult } from '../../commands/transfers.js'
import type { Merchant } from '../../domain/merchant/merchant.js'
import { toJsonNumber } from '../../domain/money.js'
import { type Deposit, statusCodes, type Transfer } from '../../domain/transfer/transfer.js'
import type { App } from '../app.js'
import type { HttpDependencies } from '../dependencies.js'
import { failures, RequestError, successEnvelope } from '../errors.js'
import { hashedAmountText } from '../hash-check.js'
import { payPageUrl } from '../pay-page-link.js'
import type { Gate } from '../plugins/gate.js'
import type { HttpMetrics } from '../plugins/metrics.js'
import { contextOf } from '../request-context.js'
import {
  CreatedEnvelope,
  type HostedDeposit,
  HostedDepositAnswer,
  HostedDepositRequest,
  type NativeDeposit,
  NativeDepositRequest,
  type Withdrawal,
  WithdrawalRequest,
} from '../schemas/creates.js'
import { createFailures } from '../schemas/envelope.js'
import { isSignatureValid } from '../signature-check.js'
import { type CheckedAmount, CreateRequestChecks } from './create-request.js'

const consumes = ['application/json-patch+json', 'application/json']
/** More merchants than this behind one address cannot be told apart by hash at a reasonable cost: they send their key. */
const maxCandidates = 100

type Hashed = Pick<HostedDeposit, 'hashCode' | 'referenceId'>
type Hash = { readonly hashCode: string; readonly amountText: string } | undefined

/** The specification's three creates (Endpoints 1 to 3). */
export function registerMerchantApi(app: App, deps: HttpDependencies, gate: Gate, metrics: HttpMetrics): void {
  const creates = new Creates(deps, gate, metrics)
  const common = { tags: ['Merchant API'], consumes }

  app.route({
    method: 'POST',
    url: '/Transaction/CreateDeposit',
    onRequest: gate.acceptKey,
    attachValidation: true,
    schema: {
      ...common,
      operationId: 'createHostedDeposit',
      summary: 'Create a hosted deposit',
      description:
        'Redirect the customer to the `url` of the answer. Without a WebApiKey the merchant is the one whose allow-list holds your address and whose SecretKey makes the hashCode.',
      security: [{}, { WebApiKey: [] }],
      body: HostedDepositRequest,
      response: { 200: HostedDepositAnswer, ...createFailures },
    },
    handler: (request) => creates.hosted(request),
  })
  app.route({
    method: 'POST',
    url: '/api/services/app/TransactionRequests/CreateDeposit',
    onRequest: gate.requireKey,
    attachValidation: true,
    schema: {
      ...common,
      operationId: 'createNativeDeposit',
      summary: 'Create a native deposit',
      body: NativeDepositRequest,
      response: { 200: CreatedEnvelope, ...createFailures },
    },
    handler: (request) => creates.native(request),
  })
  app.route({
    method: 'POST',
    url: '/api/services/app/TransactionRequests/CreateWithdraw',
    onRequest: gate.requireKey,
    attachValidation: true,
    schema: {
      ...common,
      operationId: 'createWithdrawal',
      summary: 'Create a withdrawal',
      body: WithdrawalRequest,
      response: { 200: CreatedEnvelope, ...createFailures },
    },
    handler: (request) => creates.withdrawal(request),
  })
}

class Creates {
  private readonly depositChecks: CreateRequestChecks
  private readonly withdrawalChecks: CreateRequestChecks

  constructor(
    private readonly deps: HttpDependencies,
    private readonly gate: Gate,
    private readonly metrics: HttpMetrics,
  ) {
    this.depositChecks = new CreateRequestChecks(deps.paymentMethods, 'deposit')
    this.withdrawalChecks = new CreateRequestChecks(deps.paymentMethods, 'withdrawal')
  }

  async hosted(request: FastifyRequest) {
    const amount = this.depositChecks.check(request, request.merchant)
    const body = request.body as HostedDeposit
    let merchant = request.merchant
    let hash: Hash
    if (merchant) hash = this.checkHash(merchant, body, amount)
    else {
      ;({ merchant, hash } = this.byAddress(request, body, amount))
      this.gate.admit(request, merchant)
      this.depositChecks.checkBounds(amount.amountMinor, merchant)
    }
    this.checkSignature(request, merchant)
    const transfer = (await this.deposit(request, merchant, amount, hash, 'hosted')) as Deposit
    const { trackingId, referenceId, status, statusDescription, amount: number } = created(transfer)
    const url = payPageUrl(this.deps, trackingId)
    return { url, trackingId, referenceId, status, statusDescription, amount: number, expiresAt: transfer.expiresAt }
  }

  async native(request: FastifyRequest) {
    const merchant = request.merchant!
    const amount = this.depositChecks.check(request, merchant)
    const { hashCode, referenceId } = request.body as NativeDeposit
    if (hashCode === undefined && merchant.settings.requireNativeHash) {
      const message = 'hashCode is required'
      throw new RequestError(failures.invalidRequest, { validationErrors: [{ message, members: ['hashCode'] }] })
    }
    const hash = hashCode === undefined ? undefined : this.checkHash(merchant, { hashCode, referenceId }, amount)
    this.checkSignature(request, merchant)
    return successEnvelope(created(await this.deposit(request, merchant, amount, hash, 'native')))
  }

  async withdrawal(request: FastifyRequest) {
    const merchant = request.merchant!
    const amount = this.withdrawalChecks.check(request, merchant)
    const body = request.body as Withdrawal
    const hash = this.checkHash(merchant, body, amount)
    this.checkSignature(request, merchant)
    const { userId, name, username, referenceId, paymentMethod, accountNumber, identityNumber } = body
    const result = await this.deps.transfers.createWithdrawal(
      {
        merchantId: merchant.merchantId,
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
      },
      contextOf(request),
    )
    return successEnvelope(created(this.accepted(result, 'withdrawal')))
  }

  private async deposit(
    request: FastifyRequest,
    merchant: Merchant,
    { amountMinor }: CheckedAmount,
    hash: Hash,
    channel: 'hosted' | 'native',
  ): Promise<Transfer> {
    const { userId, name, username, referenceId, paymentMethod } = request.body as NativeDeposit
    const result = await this.deps.transfers.createDeposit(
      {
        merchantId: merchant.merchantId,
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
      },
      contextOf(request),
    )
    return this.accepted(result, channel)
  }

  private accepted(result: TransferResult, channel: 'hosted' | 'native' | 'withdrawal'): Transfer {
    if (result.accepted) {
      if (result.changed) this.metrics.created(channel)
      return result.transfer
    }
    throw new RequestError(result.refusal.reason === 'hash-reused' ? failures.hashReused : failures.conflict)
  }

  /** @throws RequestError */
  private checkHash(merchant: Merchant, body: Hashed, amount: CheckedAmount): NonNullable<Hash> {
    const hash = this.matchHash(merchant, body, amount)
    if (!hash) throw hashMismatch()
    return hash
  }

  private matchHash(merchant: Merchant, { hashCode, referenceId }: Hashed, amount: CheckedAmount): Hash {
    const secrets = this.deps.directory.secrets(merchant, 'secretKey')
    const amountText = hashedAmountText({ hashCode, referenceId, ...amount }, secrets)
    return amountText === undefined ? undefined : { hashCode, amountText }
  }

  /** Without a WebApiKey: the one merchant that may call from this address and whose secret makes this hash. */
  private byAddress(request: FastifyRequest, body: Hashed, amount: CheckedAmount) {
    const candidates = this.deps.directory.byAddress(request.ip)
    if (candidates.length === 0) throw new RequestError(failures.addressNotAllowed)
    if (candidates.length > maxCandidates) {
      const details = 'Too many merchants call from this address; send your WebApiKey.'
      throw new RequestError(failures.addressNotAllowed, { details })
    }
    const matching = candidates.flatMap((merchant) => {
      const hash = this.matchHash(merchant, body, amount)
      return hash ? [{ merchant, hash }] : []
    })
    if (matching.length !== 1) throw hashMismatch()
    return matching[0]!
  }

  /** @throws RequestError */
  private checkSignature(request: FastifyRequest, merchant: Merchant): void {
    const signature = request.headers['x-signature']
    if (signature === undefined && !merchant.settings.requireSignature) return
    const secrets = this.deps.directory.secrets(merchant, 'secretKey')
    const nowMs = Date.parse(this.deps.clock())
    if (typeof signature !== 'string' || !isSignatureValid(signature, request.rawBody!, secrets, nowMs)) {
      throw new RequestError(failures.signatureMismatch)
    }
  }
}

function hashMismatch(): RequestError {
  const { message } = failures.hashMismatch
  return new RequestError(failures.hashMismatch, { validationErrors: [{ message, members: ['hashCode'] }] })
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
