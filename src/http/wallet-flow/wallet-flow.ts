import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { WalletFailure } from '../../wallet/payments/wallet-failure.js'
import { successEnvelope, walletFailures } from '../envelope.js'
import { type RefusalName, RequestError } from '../refusals.js'
import { jsonTypes } from '../server/json-body.js'
import { contextOf } from '../server/merchant-gate.js'
import {
  CodeAnswer,
  CodeRequest,
  DeviceAnswer,
  DeviceRequest,
  LogInAnswer,
  LogInRequest,
} from './wallet-flow-schemas.js'

const path = '/api/services/app/TransactionRequests'
const schema = { tags: ['Merchant API'], consumes: jsonTypes }

/** Adds the specification's native wallet flow (Endpoints 4 to 6). */
export const walletFlow: FastifyPluginAsyncTypebox = async (app) => {
  const { walletPayments } = app.services
  const deposits = app.gate.requireKey('deposits')
  const logIn = {
    ...schema,
    operationId: 'walletCustomerLogin',
    summary: 'Log in to the wallet account that pays a native deposit',
    description:
      'Sends a code to the customer by SMS. The limits are 5 codes per minute and account, and 20 logins per deposit. The third wrong password starts a wait.',
    body: LogInRequest,
    response: { 200: LogInAnswer, ...walletFailures },
  }
  app.post(`${path}/WalletCustomerLogin`, { ...deposits, schema: logIn }, async (request) => {
    const { userName: email, password } = request.body
    const login = { ...stepOf(request, request.body), email, password }
    const result = await walletPayments.logIn(login, contextOf(request))
    if (!result.ok) throw walletRefusal(result)
    return successEnvelope(result.token)
  })
  const verify = {
    ...schema,
    operationId: 'wallet2Fa',
    summary: 'Verify the code',
    description: 'A login has five attempts. The right code uses up the token.',
    body: CodeRequest,
    response: { 200: CodeAnswer, ...walletFailures },
  }
  app.post(`${path}/Wallet2Fa`, { ...deposits, schema: verify }, async (request) => {
    const { token, code } = request.body
    const result = await walletPayments.verifyCode(
      { ...stepOf(request, request.body), token, code },
      contextOf(request),
    )
    if (!result.ok) throw walletRefusal(result)
    return successEnvelope({ next_step: result.nextStep, token: result.token, account_number: result.accountNumber })
  })
  const confirm = {
    ...schema,
    operationId: 'walletValidateUserDevice',
    summary: 'Check whether the customer has confirmed the device, and finish the deposit',
    description: 'Poll every 2 seconds. One request per second and deposit counts against no limit.',
    body: DeviceRequest,
    response: { 200: DeviceAnswer, ...walletFailures },
  }
  // A request that the schema rejects must count, too.
  const uncounted = { ...app.gate.requireKeyUncounted('deposits'), attachValidation: true }
  app.post(`${path}/WalletValidateUserDevice`, { ...uncounted, schema: confirm }, async (request) => {
    const { validationError, body } = request
    const poll = validationError ? undefined : { ...stepOf(request, body), token: body.token }
    const isPoll = poll !== undefined && walletPayments.isDeviceToken(poll)
    app.gate.chargePoll(request, isPoll ? `${poll.merchantId}:${poll.trackingId}` : undefined)
    if (!poll) throw validationError
    const result = await walletPayments.validateDevice(poll, contextOf(request))
    if (!result.ok) throw walletRefusal(result, 'payment-pending')
    return successEnvelope('Completed')
  })
}

function stepOf(request: FastifyRequest, { trackingId }: { readonly trackingId: string }) {
  const { merchantId } = request.merchant!
  return { merchantId, trackingId: trackingId.toLowerCase(), channel: 'native' } as const
}

/** Returns the error of a failed step. `underWay`: the refusal of this route while a payment is in progress. */
function walletRefusal(failure: WalletFailure, underWay: RefusalName = 'payment-under-way'): RequestError {
  const { reason, message: details, retryAfterSeconds } = failure
  return new RequestError(reason === 'payment-under-way' ? underWay : reason, {
    details,
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  })
}
