import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from '../../kernel/typebox.js'
import { typedAs } from '../../kernel/typed-text.js'
import { storedUuid } from '../../kernel/uuid.js'
import type { WalletFailure } from '../../wallet/payments/wallet-failure.js'
import { Envelope, PolledEnvelope, successEnvelope, walletFailures } from '../envelope.js'
import { type RefusalName, RequestError } from '../refusals.js'
import { jsonTypes } from '../server/json-body.js'
import { merchantContext } from '../server/merchant-gate.js'
import { endDeadline } from '../server/request-deadline.js'

const TrackingId = Type.String({
  pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$',
  description: 'The trackingId of the native deposit.',
  examples: ['0b7e9a52-3c1d-5f6e-8a90-1b2c3d4e5f60'],
})
const Token = (step: string) =>
  Type.String({ minLength: 1, maxLength: 1024, description: `The token of ${step}.`, examples: ['eyJhbGciOi…'] })

const LogInRequest = Type.Object(
  {
    trackingId: TrackingId,
    userName: Type.String({
      [typedAs]: 'email',
      maxLength: 254,
      pattern: '^[^\\s@]+@[^\\s@]+$',
      description: "The email of the customer's wallet account.",
      examples: ['ada@example.com'],
    }),
    password: Type.String({ pattern: '^[0-9]{6}$', description: 'Six digits.' }),
  },
  { title: 'WalletLoginRequest' },
)

const CodeRequest = Type.Object(
  {
    trackingId: TrackingId,
    token: Token('WalletCustomerLogin'),
    code: Type.String({
      [typedAs]: 'code',
      pattern: '^[0-9]{6}$',
      description:
        'The six digits that the customer received. Spaces, hyphens and digits of other scripts are accepted as typed.',
    }),
  },
  { title: 'WalletCodeRequest' },
)

const DeviceRequest = Type.Object(
  { token: Token('Wallet2Fa'), trackingId: TrackingId },
  { title: 'WalletDeviceRequest' },
)

const LogInResponse = Envelope(
  Type.String({ description: 'A token for Wallet2Fa, valid for 5 minutes.', examples: ['eyJhbGciOi…'] }),
  'A code is on its way to the customer.',
  'LogInEnvelope',
)

const CodeResponse = Envelope(
  Type.Object(
    {
      next_step: Type.String({
        description:
          '`Completed`: the deposit is complete. `ValidateUserDevice`: the customer has received an email about the device.',
        examples: ['Completed'],
      }),
      token: Type.String({ description: 'A token for WalletValidateUserDevice, valid for 10 minutes.' }),
      account_number: Type.Integer({ description: "The customer's wallet account.", examples: [501234567890] }),
    },
    { title: 'VerifiedCode' },
  ),
  'The code is right.',
  'CodeEnvelope',
)

const DeviceResponse = PolledEnvelope(
  { description: '`Completed` once the deposit is complete, otherwise null.', examples: ['Completed'] },
  'Done; or `success` false with `error.code` 20001 (the device is not confirmed yet) or 20002 (the payment is being carried out): ask again.',
)

const path = '/api/services/app/TransactionRequests'
const schema = { tags: ['Merchant API'], consumes: jsonTypes }

/** Adds the specification's native wallet flow (Endpoints 4 to 6). */
export const walletFlow: FastifyPluginAsyncTypebox = async (app) => {
  const { walletPayments } = app.services
  const deposits = app.gate.requireKey('deposits')
  app.addHook('preHandler', endDeadline)
  const logIn = {
    ...schema,
    operationId: 'walletCustomerLogin',
    summary: 'Log in to the wallet account that pays a native deposit',
    description:
      'Sends a code to the customer by SMS. The limits are 5 codes per minute and account, and 20 logins per deposit. The third wrong password starts a wait.',
    body: LogInRequest,
    response: { 200: LogInResponse, ...walletFailures },
  }
  app.post(`${path}/WalletCustomerLogin`, { ...deposits, schema: logIn }, async (request) => {
    const { userName: email, password } = request.body
    const login = { ...stepOf(request, request.body), email, password }
    const result = await walletPayments.logIn(login, merchantContext(request))
    if (!result.ok) throw walletRefusal(result)
    return successEnvelope(result.token)
  })
  const verify = {
    ...schema,
    operationId: 'wallet2Fa',
    summary: 'Verify the code',
    description: 'A login has five attempts. The right code uses up the token.',
    body: CodeRequest,
    response: { 200: CodeResponse, ...walletFailures },
  }
  app.post(`${path}/Wallet2Fa`, { ...deposits, schema: verify }, async (request) => {
    const { token, code } = request.body
    const result = await walletPayments.verifyCode(
      { ...stepOf(request, request.body), token, code },
      merchantContext(request),
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
    response: { 200: DeviceResponse, ...walletFailures },
  }
  // A request that the schema rejects must count, too.
  const uncounted = { ...app.gate.requireKey('deposits', { isCounted: false }), attachValidation: true }
  app.post(`${path}/WalletValidateUserDevice`, { ...uncounted, schema: confirm }, async (request) => {
    const { validationError, body } = request
    const poll = validationError ? undefined : { ...stepOf(request, body), token: body.token }
    const isPoll = poll !== undefined && walletPayments.isDeviceToken(poll)
    app.gate.chargePoll(request, isPoll ? `${poll.merchantId}:${poll.trackingId}` : undefined)
    if (!poll) throw validationError
    const result = await walletPayments.validateDevice(poll, merchantContext(request))
    if (!result.ok) throw walletRefusal(result, 'payment-pending')
    return successEnvelope('Completed')
  })
}

function stepOf(request: FastifyRequest, { trackingId }: { readonly trackingId: string }) {
  const { merchantId } = request.merchant!
  return { merchantId, trackingId: storedUuid(trackingId), channel: 'native' } as const
}

/** Returns the error of a failed step. `underWay`: the refusal of this route while a payment is in progress. */
function walletRefusal(failure: WalletFailure, underWay: RefusalName = 'payment-under-way'): RequestError {
  return new RequestError(failure.reason === 'payment-under-way' ? underWay : failure.reason, failure)
}
