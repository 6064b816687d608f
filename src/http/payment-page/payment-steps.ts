import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static, TSchema } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CommandContext } from '../../commands/handle-command.js'
import { Type } from '../../kernel/typebox.js'
import { typedAs } from '../../kernel/typed-text.js'
import type { WalletFailure } from '../../wallet/payments/wallet-failure.js'
import { type RefusalName, RequestError, refusals } from '../refusals.js'
import { endDeadline } from '../server/request-deadline.js'
import { depositOfLink, PageState, pageState } from './deposit-view.js'
import { deviceCookieOf, setDeviceCookie } from './device-cookie.js'
import { requestLanguage } from './page-language.js'
import { refuseCrossSite } from './page-layout.js'

export interface PaymentLimits {
  /** Counts a login, a code or a confirmation. @throws RequestError if the address has sent too many */
  readonly chargePayment: (request: FastifyRequest) => void
}

/** The reasons for a failed step. The page has a text for each, except `over`, which makes it reload the state. The default is `failure`. */
const reasons: { readonly [reason: string]: readonly RefusalName[] } = {
  over: ['unknown-transfer', 'not-payable', 'manual-method', 'expired-deposit'],
  suspended: ['merchant-suspended'],
  wrongLogin: ['bad-login'],
  tooManyRequests: ['login-throttled', 'too-many-requests', 'codes-locked'],
  tooManyLogIns: ['too-many-logins'],
  codeExpired: ['bad-token', 'expired-token', 'used-token'],
  wrongCode: ['wrong-code'],
  tooManyCodes: ['too-many-codes'],
  insufficientBalance: ['insufficient-balance'],
  accountBlocked: ['account-blocked'],
  unavailable: ['unavailable', 'wallet-unavailable'],
}

const Refused = (description: string) =>
  Type.Object(
    { reason: Type.String(), retryAfterSeconds: Type.Optional(Type.Integer()) },
    { title: 'StepFailure', description },
  )

const failures = {
  404: Refused('The link does not exist.'),
  429: Refused('Too many attempts; see Retry-After.'),
  500: Refused('Internal error.'),
  503: Refused('The wallet or a store is unavailable; see Retry-After.'),
}

const stepFailures = {
  400: Refused('Invalid: a wrong login, a wrong code, or a token that is no longer valid.'),
  403: Refused('The request comes from a page of another site, or the merchant is suspended.'),
  409: Refused('The wallet refused the payment, or the deposit has ended.'),
  413: Refused('The body is larger than 16 KiB.'),
  415: Refused('The body is not JSON.'),
  ...failures,
}

const NextStep = Type.Object(
  {
    next: Type.Union([Type.Literal('code'), Type.Literal('device'), Type.Literal('wait'), Type.Literal('result')]),
    token: Type.Optional(Type.String()),
  },
  { title: 'NextStep', description: 'The next step with its token, a wait, or the result.' },
)
type Next = Static<typeof NextStep>

const Token = Type.String({ minLength: 1, maxLength: 4096 })

const params = Type.Object({ link: Type.String({ description: 'The last part of the `url`.' }) })

/** Adds the routes for the page's script. The link is the credential. The cookie only attributes wrong passwords to a browser. */
export const steps: FastifyPluginAsyncTypebox<PaymentLimits> = async (app, { chargePayment }) => {
  const { walletPayments, publicUrl, clock } = app.services
  const common = { tags: ['Payment page'], security: [], params }
  app.addHook('preHandler', endDeadline)
  /** Before the body is read, because requests from other sites are rejected. */
  const step = <Body extends TSchema>(operationId: string, summary: string, description: string, body: Body) => ({
    onRequest: refuseCrossSite,
    schema: { ...common, operationId, summary, description, body, response: { 200: NextStep, ...stepFailures } },
  })
  app.setErrorHandler((error, request, reply) => {
    const { refusal, particulars } = app.failWith(error, request, reply)
    reply.type('application/json; charset=utf-8').send(refused(refusal, particulars.retryAfterSeconds))
  })
  /** Responds to a step without success. For the page, some of these are not failures. */
  const sendFailure = ({ reason, retryAfterSeconds }: WalletFailure, reply: FastifyReply) => {
    if (reason === 'device-pending' || reason === 'payment-under-way') return reply.send({ next: 'wait' })
    if (reason === 'manual-control') return reply.send({ next: 'result' })
    app.noteRefusal(reason, reply.request)
    if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
    // Sent and not thrown: the attempt is already counted, and the request itself is valid.
    return reply.code(refusals[reason].status).send(refused(reason, retryAfterSeconds))
  }

  const state = {
    ...common,
    operationId: 'getPaymentState',
    summary: 'Get the state of a hosted deposit',
    description: 'The page requests it repeatedly until the deposit has ended.',
    response: { 200: PageState, ...failures },
  }
  app.get('/pay/:link/state', { schema: state }, async (request) => {
    app.gate.chargeAddress(request)
    return pageState(await depositOfLink(app.services, request.params.link), requestLanguage(request), clock())
  })
  const credentials = Type.Object(
    { email: Type.String({ [typedAs]: 'email', maxLength: 254 }), password: Type.String({ maxLength: 64 }) },
    { title: 'PaymentLogIn' },
  )
  app.post(
    '/pay/:link/login',
    step('payLogIn', 'Log in to the wallet', 'Sends a code to the customer by SMS.', credentials),
    async (request, reply) => {
      chargePayment(request)
      const deposit = await payableDeposit(request)
      const { email, password } = request.body
      const login = { ...deposit, email, password, deviceCookie: deviceCookieOf(request, publicUrl) }
      const result = await walletPayments.logIn(login, customerContext(request))
      if (!result.ok) return sendFailure(result, reply)
      if (result.deviceCookie !== undefined) setDeviceCookie(reply, publicUrl, result.deviceCookie)
      return { next: 'code', token: result.token } satisfies Next
    },
  )
  const proof = Type.Object(
    { token: Token, code: Type.String({ [typedAs]: 'code', maxLength: 32 }) },
    { title: 'PaymentCode' },
  )
  app.post(
    '/pay/:link/code',
    step(
      'payVerifyCode',
      'Verify the code and pay',
      'If the wallet does not know the device, the customer confirms it by email first.',
      proof,
    ),
    async (request, reply) => {
      chargePayment(request)
      const deposit = await payableDeposit(request)
      const { token, code } = request.body
      const result = await walletPayments.verifyCode({ ...deposit, token, code }, customerContext(request))
      if (!result.ok) return sendFailure(result, reply)
      const next: Next = result.nextStep === 'Completed' ? { next: 'result' } : { next: 'device', token: result.token }
      return next
    },
  )
  app.post(
    '/pay/:link/device',
    step(
      'payAwaitDevice',
      'Check whether the device is confirmed, and pay',
      'The page repeats this request until the customer has confirmed the device.',
      Type.Object({ token: Token }, { title: 'PaymentDevice' }),
    ),
    async (request, reply) => {
      app.gate.chargeAddress(request)
      const deposit = await payableDeposit(request)
      const { token } = request.body
      const result = await walletPayments.validateDevice({ ...deposit, token }, customerContext(request))
      return result.ok ? ({ next: 'result' } satisfies Next) : sendFailure(result, reply)
    },
  )
}

/** Returns the deposit of the link, regardless of the body. @throws RequestError */
async function payableDeposit({ server, params: { link } }: FastifyRequest<{ Params: Static<typeof params> }>) {
  const { deposit, suspended } = await depositOfLink(server.services, link)
  if (suspended) throw new RequestError('merchant-suspended')
  return { trackingId: deposit.trackingId, merchantId: deposit.merchantId, channel: 'hosted' } as const
}

export function customerContext({ id }: FastifyRequest): CommandContext {
  return { actor: 'customer', $correlationId: id, $causationId: id }
}

function refused(refusal: RefusalName, retryAfterSeconds: number | undefined) {
  const [reason] = Object.entries(reasons).find(([, refusals]) => refusals.includes(refusal)) ?? ['failure']
  return { reason, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) }
}
