import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { RequestHash } from '../../commands/transfer/create-transfer.js'
import type { CreateRequest } from '../../commands/transfer/transfer-requests.js'
import { violate } from '../../domain/decider.js'
import type { Merchant } from '../../domain/merchant/merchant.js'
import type { MerchantSettings } from '../../domain/merchant/merchant-events.js'
import { toJsonNumber } from '../../domain/money.js'
import { scenarioOf } from '../../domain/scenarios.js'
import { payeeFields, requestedFields, statedFields } from '../../domain/transfer/requested-fields.js'
import { statusCodes } from '../../domain/transfer/status.js'
import type { Deposit, Transfer } from '../../domain/transfer/transfer.js'
import type { DepositChannel } from '../../domain/transfer/transfer-events.js'
import { createFailures, successEnvelope } from '../envelope.js'
import { payPageUrl } from '../payment-page/pay-page-link.js'
import { accepted, invalid, RequestError } from '../refusals.js'
import { jsonTypes } from '../server/json-body.js'
import { merchantContext } from '../server/merchant-gate.js'
import { isSignatureValid } from '../server/request-signature.js'
import { type CheckedAmount, CreateRequestChecks, hashedAmountText } from './create-request.js'
import {
  CreatedEnvelope,
  type HostedDeposit,
  HostedDepositRequest,
  HostedDepositResponse,
  type NativeDeposit,
  NativeDepositRequest,
  type Withdrawal,
  WithdrawalRequest,
} from './create-schemas.js'

/** The hash cannot distinguish more merchants behind one address at a reasonable cost: they must send their key. */
const maxCandidates = 100

/**
 * The largest valid create, rounded up: JSON libraries can write each character as two escaped UTF-16 units, which are twelve bytes. That is
 * 58 KB for the metadata, and 8 KB for the other texts.
 */
const bodyLimit = 64 * 1024

type Channel = DepositChannel | 'withdrawal'

/** A request's hashCode and its amount text; `proven` if a valid secret produces the hash. */
interface CheckedHash extends RequestHash {
  readonly proven: boolean
}

/**
 * Adds the specification's three creates (Endpoints 1 to 3). A repeat of an accepted create gets the first response, regardless of later
 * changes. An earlier create is looked up only if the current settings reject the request, so that a new create costs no lookup.
 */
export const merchantApi: FastifyPluginAsyncTypebox = async (app) => {
  const { transfers, directory, secretKeyUse, clock, scenarios } = app.services
  const depositChecks = new CreateRequestChecks('deposit', app.services)
  const withdrawalChecks = new CreateRequestChecks('withdrawal', app.services)
  const checks = { hosted: depositChecks, native: depositChecks, withdrawal: withdrawalChecks }
  const common = { tags: ['Merchant API'], consumes: jsonTypes }
  const hosted = {
    ...common,
    operationId: 'createHostedDeposit',
    summary: 'Create a hosted deposit',
    description: 'Redirect the customer to the `url` of the response.',
    security: [{}, { WebApiKey: [] }],
    body: HostedDepositRequest,
    response: { 200: HostedDepositResponse, ...createFailures },
  }
  const native = {
    ...common,
    operationId: 'createNativeDeposit',
    summary: 'Create a native deposit',
    body: NativeDepositRequest,
    response: { 200: CreatedEnvelope, ...createFailures },
  }
  const withdrawal = {
    ...common,
    operationId: 'createWithdrawal',
    summary: 'Create a withdrawal',
    body: WithdrawalRequest,
    response: { 200: CreatedEnvelope, ...createFailures },
  }
  const path = '/api/services/app/TransactionRequests'
  // A repeat of an accepted create needs no signature, so the handlers check it.
  const checked = { isSignatureChecked: false }
  const options = { bodyLimit, attachValidation: true }
  const deposits = { ...app.gate.requireKey('deposits', checked), ...options }
  const withdrawals = { ...app.gate.requireKey('withdrawals', checked), ...options }
  const open = { ...app.gate.requireKey('deposits', { ...checked, isOptional: true }), ...options }
  app.post('/Transaction/CreateDeposit', { ...open, schema: hosted }, createHosted)
  app.post(`${path}/CreateDeposit`, { ...deposits, schema: native }, createWithKey('native'))
  app.post(`${path}/CreateWithdraw`, { ...withdrawals, schema: withdrawal }, createWithKey('withdrawal'))

  async function createHosted(request: FastifyRequest) {
    const amount = depositChecks.check(request, request.merchant)
    const merchant = request.merchant ?? (await merchantByAddress(request, amount))
    const transfer = (await create(request, merchant, amount, 'hosted')) as Deposit
    const url = payPageUrl(app.services, transfer.trackingId)
    return { url, ...created(transfer), expiresAt: transfer.firstExpiresAt }
  }

  function createWithKey(channel: 'native' | 'withdrawal') {
    return async (request: FastifyRequest) => {
      const merchant = request.merchant!
      const amount = checks[channel].check(request, merchant)
      const transfer = await create(request, merchant, amount, channel)
      return successEnvelope({ transactionId: transfer.trackingId, ...created(transfer) })
    }
  }

  async function create(request: FastifyRequest, merchant: Merchant, amount: CheckedAmount, channel: Channel) {
    const body = request.body as NativeDeposit | Withdrawal
    const hash = checkHash(merchant, body, amount)
    if (secretKeyUse.matters(merchant)) await noteSecretKey(request, merchant, amount)
    const refused = refusal(request, merchant, amount, channel, hash)
    const unproven = hash?.proven === false ? hash : undefined
    const create = requestOf(body, merchant, amount, hash, channel)
    if (refused) {
      const repeated = await transfers.findRepeated(create, unproven)
      if (!repeated) throw refused
      return repeated
    }
    const { changed, transfer } = accepted('transfer', await transfers.create(create, merchantContext(request)))
    if (changed) app.countCreate(channel, merchant.merchantId)
    if (merchant.settings.sandbox) scenarios.play(transfer)
    return transfer
  }

  /** Returns why the current settings reject the request. */
  function refusal(
    request: FastifyRequest,
    merchant: Merchant,
    amount: CheckedAmount,
    channel: Channel,
    hash: CheckedHash | undefined,
  ): RequestError | undefined {
    const refused = checks[channel].refusal(request.body ?? {}, amount, merchant)
    if (refused) return refused
    if (hash && !hash.proven) return hashMismatch()
    const { requireNativeHash, requireSignature } = merchant.settings
    if (!hash && (channel !== 'native' || requireNativeHash)) return invalid('hashCode', 'required')
    const isRequired = requireSignature === 'all' || (requireSignature === 'withdrawals' && channel === 'withdrawal')
    return app.gate.isSigned(request, merchant, isRequired) ? undefined : new RequestError('signature-mismatch')
  }

  /** Finds the merchant of a request without a WebApiKey by the address and the hash. @throws RequestError */
  async function merchantByAddress(request: FastifyRequest, amount: CheckedAmount): Promise<Merchant> {
    const body = request.body as HostedDeposit
    const candidates = directory.byAddress(request.ip)
    // The caller may be a merchant that is out of service.
    const problem = directory.problemAt(request.ip)
    if (candidates.length === 0) throw problem ?? new RequestError('address-not-allowed')
    if (candidates.length > maxCandidates) {
      const details = 'Too many merchants use this address. Send your WebApiKey.'
      throw new RequestError('address-not-allowed', { details })
    }
    const matching = candidates.filter((merchant) => checkHash(merchant, body, amount)?.proven)
    // Charge the address before the lookups: the charge for the failure itself would come too late to limit them.
    if (matching.length === 0) app.gate.chargeAddress(request)
    const [merchant] = matching.length === 0 ? await merchantsOfRepeat(candidates, body, amount) : matching
    if (!merchant && problem) throw problem
    if (!merchant || matching.length > 1) throw hashMismatch()
    app.gate.admit(request, merchant)
    return merchant
  }

  /** Returns the merchants that already have this deposit with a hash of a secret that is no longer valid: practically at most one. */
  async function merchantsOfRepeat(candidates: readonly Merchant[], body: HostedDeposit, amount: CheckedAmount) {
    const hash = { hashCode: body.hashCode, amountText: amount.amountText }
    const found = await Promise.all(
      candidates.map(async (merchant) => {
        const deposit = requestOf(body, merchant, amount, hash, 'hosted')
        return (await transfers.findRepeated(deposit, hash)) ? [merchant] : []
      }),
    )
    return found.flat()
  }

  /** Returns `undefined` if the request has no hashCode. */
  function checkHash(
    merchant: Merchant,
    body: NativeDeposit | Withdrawal,
    amount: CheckedAmount,
  ): CheckedHash | undefined {
    const { hashCode, referenceId } = body
    if (hashCode === undefined) return undefined
    const secrets = directory.secrets(merchant, 'secretKey')
    const amountText = hashedAmountText({ hashCode, referenceId, ...amount }, secrets)
    return { hashCode, amountText: amountText ?? amount.amountText, proven: amountText !== undefined }
  }

  /**
   * Records the use of a newer SecretKey during a rotation, because callbacks change to it together with the merchant. It happens once
   * per rotation.
   */
  async function noteSecretKey(request: FastifyRequest, merchant: Merchant, amount: CheckedAmount): Promise<void> {
    const now = clock()
    const { hashCode, referenceId } = request.body as NativeDeposit | Withdrawal
    const used = directory.secretKeys(merchant, now).find(({ value }) => {
      if (hashCode !== undefined && hashedAmountText({ hashCode, referenceId, ...amount }, [value])) return true
      return isSignatureValid(request, [value], Date.parse(now))
    })
    if (used) await secretKeyUse.seen(merchant, used.number, merchantContext(request))
  }
}

function requestOf(
  body: NativeDeposit | Withdrawal,
  { merchantId, settings }: Merchant,
  { amountMinor }: CheckedAmount,
  hash: RequestHash | undefined,
  channel: Channel,
): CreateRequest {
  const { referenceId } = body
  // An empty object would look like erased metadata.
  const metadata = Object.keys(body.metadata ?? {}).length === 0 ? null : body.metadata!
  const requested = statedFields(requestedFields, { ...body, metadata })
  const common = { merchantId, referenceId, amountMinor, callbackOnCreate: settings.callbackOnCreate, hash }
  if (channel !== 'withdrawal')
    return { ...common, channel, expiryMinutes: minutesToPay(settings, common), ...requested }
  return { ...common, ...statedFields(payeeFields, { identityNumber: null, ...(body as Withdrawal) }), ...requested }
}

function minutesToPay(
  { sandbox, depositExpiryMinutes }: MerchantSettings,
  deposit: Pick<Deposit, 'referenceId' | 'amountMinor'>,
): number {
  const { secondsToPay } = (sandbox && scenarioOf({ kind: 'deposit', ...deposit })) || {}
  return secondsToPay === undefined ? depositExpiryMinutes : secondsToPay / 60
}

function hashMismatch(): RequestError {
  return new RequestError('hash-mismatch', { fields: [{ field: 'hashCode', ...violate('invalid') }] })
}

/** Returns the first response, regardless of later changes, because a repeat replaces a lost response. */
function created({ trackingId, referenceId, amountMinor }: Transfer) {
  return {
    trackingId,
    referenceId,
    status: statusCodes.Pending,
    statusDescription: 'Pending',
    amount: toJsonNumber(amountMinor),
  }
}
