import type { FastifyRequest } from 'fastify'
import type { WalletFailure } from '../../commands/wallet/failure.js'
import type { App } from '../app.js'
import type { HttpDependencies } from '../dependencies.js'
import { walletFailures } from '../envelope.js'
import { type Failure, failures, RequestError, successEnvelope } from '../errors.js'
import type { Gate } from '../plugins/gate.js'
import { contextOf } from '../request-context.js'
import { CodeAnswer, CodeRequest, DeviceAnswer, DeviceRequest, LogInAnswer, LogInRequest } from './schemas.js'

const consumes = ['application/json', 'application/json-patch+json']
const common = { tags: ['Merchant API'], consumes }

/** The specification's native wallet flow (Endpoints 4 to 6). */
export function registerWalletFlow(app: App, { walletPayments }: HttpDependencies, gate: Gate): void {
  app.route({
    method: 'POST',
    url: '/api/services/app/TransactionRequests/WalletCustomerLogin',
    onRequest: gate.requireKey,
    schema: {
      ...common,
      operationId: 'walletCustomerLogin',
      summary: 'Log in to the wallet account that pays a native deposit',
      description:
        'Sends a code to the customer by SMS. At most 5 codes a minute to one account, and 20 log-ins for one deposit. From the third wrong password on there is a wait.',
      body: LogInRequest,
      response: { 200: LogInAnswer, ...walletFailures },
    },
    handler: async (request) => {
      const { userName: email, password } = request.body
      const result = await walletPayments.logIn(
        { ...stepOf(request, request.body), email, password },
        contextOf(request),
      )
      if (!result.ok) throw requestError(result, failures.paymentUnderWay)
      return successEnvelope(result.token)
    },
  })
  app.route({
    method: 'POST',
    url: '/api/services/app/TransactionRequests/Wallet2Fa',
    onRequest: gate.requireKey,
    schema: {
      ...common,
      operationId: 'wallet2Fa',
      summary: 'Verify the code',
      description: 'Five attempts for each log-in. The token is used up by the right code.',
      body: CodeRequest,
      response: { 200: CodeAnswer, ...walletFailures },
    },
    handler: async (request) => {
      const { token, code } = request.body
      const result = await walletPayments.verifyCode(
        { ...stepOf(request, request.body), token, code },
        contextOf(request),
      )
      if (!result.ok) throw requestError(result, failures.paymentUnderWay)
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
    onRequest: gate.requireKeyUncounted,
    schema: {
      ...common,
      operationId: 'walletValidateUserDevice',
      summary: 'Ask whether the customer has confirmed the device, and finish the deposit',
      description: 'Ask every 2 seconds: once a second for each deposit counts against no limit.',
      body: DeviceRequest,
      response: { 200: DeviceAnswer, ...walletFailures },
    },
    // What the schema refuses must count too.
    attachValidation: true,
    handler: async (request) => {
      const { validationError, body } = request
      const poll = validationError ? undefined : { ...stepOf(request, body), token: body.token }
      const isPoll = poll !== undefined && walletPayments.isDeviceToken(poll)
      gate.chargePoll(request, isPoll ? `${poll.merchantId}:${poll.trackingId}` : undefined)
      if (!poll) throw validationError
      const result = await walletPayments.validateDevice(poll, contextOf(request))
      if (!result.ok) throw requestError(result, failures.paymentPending)
      return successEnvelope('Completed')
    },
  })
}

function stepOf(request: FastifyRequest, { trackingId }: { readonly trackingId: string }) {
  const { merchantId } = request.merchant!
  return { merchantId, trackingId: trackingId.toLowerCase(), channel: 'native' } as const
}

/** `underWay`: what a payment that is being carried out is to this route. */
function requestError(failure: WalletFailure, underWay: Failure): RequestError {
  const { message: details, retryAfterSeconds } = failure
  return new RequestError(failureOf(failure, underWay), {
    details,
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  })
}

/** `underWay`: what a payment that is being carried out is to the caller. */
export function failureOf({ reason }: WalletFailure, underWay: Failure): Failure {
  switch (reason) {
    case 'unknown-transfer':
      return failures.unknownTransfer
    case 'not-payable':
      return failures.notPayable
    case 'manual-method':
      return failures.manualMethod
    case 'expired-deposit':
      return failures.depositExpired
    case 'bad-login':
      return failures.badLogin
    case 'login-throttled':
      return failures.logInsThrottled
    case 'too-many-logins':
      return failures.tooManyLogIns
    case 'bad-token':
      return failures.badToken
    case 'expired-token':
      return failures.expiredToken
    case 'used-token':
      return failures.usedToken
    case 'wrong-code':
      return failures.wrongCode
    case 'too-many-codes':
      return failures.tooManyCodes
    case 'codes-locked':
      return failures.codesLocked
    case 'device-pending':
      return failures.devicePending
    case 'payment-under-way':
      return underWay
    case 'insufficient-balance':
      return failures.insufficientBalance
    case 'account-blocked':
      return failures.accountBlocked
    case 'manual-control':
      return failures.manualControl
    case 'wallet-unavailable':
      return failures.walletUnavailable
    default:
      return reason satisfies never
  }
}
