import { type Static, Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CommandContext } from '../../commands/handle-command.js'
import type { WalletFailure, WalletFailureReason } from '../../commands/wallet/failure.js'
import type { Deposit } from '../../domain/transfer/transfer.js'
import type { App } from '../app.js'
import type { HttpDependencies } from '../dependencies.js'
import { NullableString } from '../envelope.js'
import { type Failure, failures, RequestError } from '../errors.js'
import type { FailWith } from '../plugins/failing.js'
import type { Gate } from '../plugins/gate.js'
import { noteFailure } from '../plugins/security-notes.js'
import { failureOf } from '../wallet-flow/routes.js'
import { depositOfLink, pageState } from './deposit-view.js'
import { deviceCookieOf, setDeviceCookie } from './device-cookie.js'
import { requestLanguage } from './routes.js'
import { refuseCrossSite } from './same-origin.js'

const Link = Type.Object({ link: Type.String({ description: 'As in the `url`.' }) })

const State = Type.Object(
  {
    phase: Type.String({ examples: ['open'] }),
    status: Type.String({ examples: ['Pending'] }),
    secondsLeft: Type.Integer(),
    paid: NullableString(),
    paidAt: NullableString(),
    accountDigits: NullableString(),
    hasAmountMismatch: Type.Boolean(),
    receiptUrl: NullableString(),
  },
  { description: 'The state, from the log.' },
)

type Problem = Exclude<WalletFailureReason, 'device-pending' | 'payment-under-way' | 'manual-control'>

/** Why a step did not work; the page has a text for each reason but `over`, which makes it look at the state. */
const problems: { readonly [reason in Problem]: { readonly reason: string; readonly status: number } } = {
  'unknown-transfer': { reason: 'over', status: 404 },
  'not-payable': { reason: 'over', status: 409 },
  'manual-method': { reason: 'over', status: 409 },
  'expired-deposit': { reason: 'over', status: 409 },
  'bad-login': { reason: 'wrongLogin', status: 400 },
  'login-throttled': { reason: 'tooManyRequests', status: 429 },
  'too-many-logins': { reason: 'tooManyLogIns', status: 409 },
  'bad-token': { reason: 'codeExpired', status: 400 },
  'expired-token': { reason: 'codeExpired', status: 400 },
  'used-token': { reason: 'codeExpired', status: 400 },
  'wrong-code': { reason: 'wrongCode', status: 400 },
  'too-many-codes': { reason: 'tooManyCodes', status: 400 },
  'codes-locked': { reason: 'tooManyRequests', status: 429 },
  'insufficient-balance': { reason: 'insufficientBalance', status: 409 },
  'account-blocked': { reason: 'accountBlocked', status: 409 },
  'wallet-unavailable': { reason: 'unavailable', status: 503 },
}

const Refused = (description: string) =>
  Type.Object({ reason: Type.String(), retryAfterSeconds: Type.Optional(Type.Integer()) }, { description })

const refusals = {
  400: Refused('Not valid: wrong log-in, wrong code, or a token that is no longer good.'),
  403: Refused('Sent by a page of another site, or the merchant is suspended.'),
  404: Refused('There is no such link.'),
  409: Refused('The wallet refused the payment, or the deposit is over.'),
  413: Refused('The body is larger than 16 KiB.'),
  415: Refused('The body is not JSON.'),
  429: Refused('Too many attempts; see Retry-After.'),
  500: Refused('A fault of the service.'),
  503: Refused('The wallet or a store is away; see Retry-After.'),
}

const NextStep = Type.Object(
  {
    next: Type.Union([Type.Literal('code'), Type.Literal('device'), Type.Literal('wait'), Type.Literal('result')]),
    token: Type.Optional(Type.String()),
  },
  { description: 'What comes next: another step with its token, waiting, or the result.' },
)
type Next = Static<typeof NextStep>

const Token = Type.String({ minLength: 1, maxLength: 4096 })

const common = { tags: ['Payment page'], security: [], params: Link }

type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void

/** What the page's script asks. The link is the credential; the one cookie only tells whose wrong passwords are whose. */
export function registerPaySteps(app: App, deps: HttpDependencies, gate: Gate, failWith: FailWith): void {
  const errorHandler: ErrorHandler = (error, request, reply) => {
    const { failure, particulars } = failWith(error, request, reply)
    const { retryAfterSeconds } = particulars
    const refused = { reason: reasonOf(failure), ...(retryAfterSeconds && { retryAfterSeconds }) }
    reply.type('application/json; charset=utf-8').send(refused)
  }
  registerState(app, deps, gate, errorHandler)
  registerSteps(app, deps, gate, errorHandler)
}

function registerState(app: App, deps: HttpDependencies, gate: Gate, errorHandler: ErrorHandler): void {
  app.route({
    method: 'GET',
    url: '/pay/:link/state',
    schema: {
      ...common,
      operationId: 'getPaymentState',
      summary: 'The state of a hosted deposit',
      response: { 200: State, 404: refusals[404], 429: refusals[429], 500: refusals[500], 503: refusals[503] },
    },
    errorHandler,
    handler: async (request) => {
      gate.chargeAddress(request)
      const found = await depositOfLink(deps, request.params.link)
      return pageState(found, requestLanguage(request), deps.clock())
    },
  })
}

/** What a body names beside its own fields is never passed on: the link says which deposit it is. */
function registerSteps(app: App, deps: HttpDependencies, gate: Gate, errorHandler: ErrorHandler): void {
  const { walletPayments } = deps
  const step = (operationId: string, summary: string) => ({
    schema: { ...common, operationId, summary, response: { 200: NextStep, ...refusals } },
    errorHandler,
    // Before the body is read: what another site sends is none of ours.
    onRequest: async (request: FastifyRequest) => refuseCrossSite(request, deps.publicUrl),
  })
  const logIn = step('payLogIn', 'Log in to the wallet')
  app.route({
    method: 'POST',
    url: '/pay/:link/login',
    ...logIn,
    schema: {
      ...logIn.schema,
      body: Type.Object({ email: Type.String({ maxLength: 254 }), password: Type.String({ maxLength: 64 }) }),
    },
    handler: async (request, reply): Promise<Next> => {
      gate.chargePayment(request)
      const { email, password } = request.body
      const of = await customer(deps, request, request.params.link)
      const deviceCookie = deviceCookieOf(request, deps.publicUrl)
      const result = await walletPayments.logIn({ ...of.deposit, email, password, deviceCookie }, of.context)
      if (!result.ok) return instead(deps, result, reply)
      setDeviceCookie(reply, deps.publicUrl, result.deviceCookie)
      return { next: 'code', token: result.token }
    },
  })
  const verify = step('payVerifyCode', 'Give the code and pay')
  app.route({
    method: 'POST',
    url: '/pay/:link/code',
    ...verify,
    schema: { ...verify.schema, body: Type.Object({ token: Token, code: Type.String({ maxLength: 32 }) }) },
    handler: async (request, reply): Promise<Next> => {
      gate.chargePayment(request)
      const of = await customer(deps, request, request.params.link)
      const { token, code } = request.body
      const result = await walletPayments.verifyCode({ ...of.deposit, token, code }, of.context)
      if (!result.ok) return instead(deps, result, reply)
      return result.nextStep === 'Completed' ? { next: 'result' } : { next: 'device', token: result.token }
    },
  })
  const device = step('payAwaitDevice', 'Ask whether the device was confirmed, and pay')
  app.route({
    method: 'POST',
    url: '/pay/:link/device',
    ...device,
    schema: { ...device.schema, body: Type.Object({ token: Token }) },
    handler: async (request, reply): Promise<Next> => {
      gate.chargeAddress(request)
      const of = await customer(deps, request, request.params.link)
      const result = await walletPayments.validateDevice({ ...of.deposit, token: request.body.token }, of.context)
      return result.ok ? { next: 'result' } : instead(deps, result, reply)
    },
  })
}

async function customer(deps: HttpDependencies, request: FastifyRequest, link: string) {
  const { deposit, suspended } = await depositOfLink(deps, link)
  if (suspended) throw new RequestError(failures.merchantSuspended)
  const { trackingId, merchantId }: Deposit = deposit
  const context: CommandContext = { actor: 'customer', $correlationId: request.id, $causationId: request.id }
  return { deposit: { trackingId, merchantId, channel: 'hosted' as const }, context }
}

/** What the page does about a step that did not end in success; some of that is no failure to it. */
function instead({ securityLog }: HttpDependencies, failure: WalletFailure, reply: FastifyReply): Next {
  const { reason, retryAfterSeconds } = failure
  switch (reason) {
    case 'device-pending':
    case 'payment-under-way':
      return { next: 'wait' }
    case 'manual-control':
      return { next: 'result' }
  }
  noteFailure(securityLog, reply.request, failureOf(failure, failures.paymentUnderWay))
  const { reason: told, status } = problems[reason]
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
  // Sent, not thrown: it was counted where it was decided, and it is no request that went wrong.
  reply.code(status).send({ reason: told, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) })
  return reply as never
}

function reasonOf(failure: Failure): string {
  if (failure === failures.tooManyRequests) return 'tooManyRequests'
  if (failure === failures.unavailable) return 'unavailable'
  if (failure === failures.merchantSuspended) return 'suspended'
  return failure === failures.unknownTransfer ? 'over' : 'trouble'
}
