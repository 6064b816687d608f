import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { WalletFailure } from '../../wallet/payments/wallet-failure.js'
import type { WalletPayments } from '../../wallet/payments/wallet-payments.js'
import { successEnvelope, walletFailures } from '../envelope.js'
import { type RefusalName, RequestError } from '../refusals.js'
import { jsonTypes } from '../server/json-bodies.js'
import { contextOf } from '../server/merchant-gate.js'
import {
  CodeAnswer,
  CodeRequest,
  DeviceAnswer,
  DeviceRequest,
  LogInAnswer,
  LogInRequest,
} from './wallet-flow-schemas.js'

export interface WalletFlowOptions {
  readonly walletPayments: WalletPayments
}

const common = { tags: ['Merchant API'], consumes: jsonTypes }

/** Adds the specification's native wallet flow (Endpoints 4 to 6). */
export const walletFlow: FastifyPluginAsyncTypebox<WalletFlowOptions> = async (app, { walletPayments }) => {
  app.route({
    method: 'POST',
    url: '/api/services/app/TransactionRequests/WalletCustomerLogin',
    ...app.gate.requireKey('deposits'),
    schema: {
      ...common,
      operationId: 'walletCustomerLogin',
      summary: 'Log in to the wallet account that pays a native deposit',
      description:
        'Sends a code to the customer by SMS. The limits are 5 codes per minute and account, and 20 logins per deposit. The third wrong password starts a wait.',
      body: LogInRequest,
      response: { 200: LogInAnswer, ...walletFailures },
    },
    handler: async (request) => {
      const { userName: email, password } = request.body
      const result = await walletPayments.logIn(
        { ...stepOf(request, request.body), email, password },
        contextOf(request),
      )
      if (!result.ok) throw walletRefusal(result)
      return successEnvelope(result.token)
    },
  })
  app.route({
    method: 'POST',
    url: '/api/services/app/TransactionRequests/Wallet2Fa',
    ...app.gate.requireKey('deposits'),
    schema: {
      ...common,
      operationId: 'wallet2Fa',
      summary: 'Verify the code',
      description: 'A login has five attempts. The right code uses up the token.',
      body: CodeRequest,
      response: { 200: CodeAnswer, ...walletFailures },
    },
    handler: async (request) => {
      const { token, code } = request.body
      const result = await walletPayments.verifyCode(
        { ...stepOf(request, request.body), token, code },
        contextOf(request),
      )
      if (!result.ok) throw walletRefusal(result)
      return successEnvelope({
        next_step: result.nextStep,
        token: result.token,
        account_number: result.accountNumber,
      })
    },
  })
  app.route({
    method: 'POST',
    url: '/api/services/app/TransactionRequests/WalletValidateUserDevice',
    ...app.gate.requireKeyUncounted('deposits'),
    schema: {
      ...common,
      operationId: 'walletValidateUserDevice',
      summary: 'Check whether the customer has confirmed the device, and finish the deposit',
      description: 'Poll every 2 seconds. One request per second and deposit counts against no limit.',
      body: DeviceRequest,
      response: { 200: DeviceAnswer, ...walletFailures },
    },
    // A request that the schema rejects must count, too.
    attachValidation: true,
    handler: async (request) => {
      const { validationError, body } = request
      const poll = validationError ? undefined : { ...stepOf(request, body), token: body.token }
      const isPoll = poll !== undefined && walletPayments.isDeviceToken(poll)
      app.gate.chargePoll(request, isPoll ? `${poll.merchantId}:${poll.trackingId}` : undefined)
      if (!poll) throw validationError
      const result = await walletPayments.validateDevice(poll, contextOf(request))
      if (!result.ok) throw walletRefusal(result, 'payment-pending')
      return successEnvelope('Completed')
    },
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
