import type { Static, TSchema } from '@sinclair/typebox'
import type { TypeCheck } from '@sinclair/typebox/compiler'
import type { Currency } from '../../domain/money.js'
import { KeyedLimit } from '../../kernel/keyed-limit.js'
import { Type, TypeCompiler } from '../../kernel/typebox.js'
import { ExchangeFailedError, type ExchangeResponse, exchange } from '../exchange.js'
import { type Collection, type Wallet, WalletOutcomeUnknownError, WalletUnavailableError } from '../wallet.js'

export interface WalletCore {
  /** The base URL, without a trailing slash. */
  readonly url: string
  readonly token: string
  readonly timeoutMs: number
  readonly currency: Currency
}

interface Call<Schema extends TSchema> {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: object
  readonly headers?: { readonly [name: string]: string }
  readonly answer: TypeCheck<Schema>
}

/** The statuses that guarantee that the core did nothing. After any other error, the outcome is unknown. */
const nothingDone: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 413, 415, 422, 429])
const maxRequests = 64
const maxReceiptUrlLength = 2_048

/** Creates a wallet that calls a core over HTTP (docs/reference/wallet-core.openapi.yaml). No request is retried automatically. */
export function createHttpWallet(core: WalletCore): Wallet {
  const send = limited(core)
  const currency = core.currency.code
  return {
    logIn: async (email, password) => {
      const call = { method: 'POST', path: '/logins', body: { email, password }, answer: LogInAnswer } as const
      const answer = await harmless(send(call))
      return answer.outcome === 'refused' ? answer : { ...answer, sandbox: answer.sandbox ?? false }
    },
    sendCode: async ({ id, accountNumber }, { merchantName, amountMinor }) => {
      const body = { challengeId: id, accountNumber, merchantName, amountMinor: Number(amountMinor), currency }
      await harmless(send({ method: 'POST', path: '/codes', body, answer: DoneAnswer }))
    },
    verifyCode: async ({ id, accountNumber }, code) => {
      const body = { challengeId: id, accountNumber, code }
      return (await harmless(send({ method: 'POST', path: '/codes/verifications', body, answer: CodeAnswer }))).valid
    },
    isTrusted: async (accountNumber, device) => {
      const path = `/accounts/${accountNumber}/devices/${encodeURIComponent(device)}`
      return (await harmless(send({ method: 'GET', path, answer: TrustAnswer }))).trusted
    },
    askToTrust: async ({ accountNumber, confirmUrl, merchantName, amountMinor }) => {
      const path = `/accounts/${accountNumber}/device-confirmations`
      const body = { confirmUrl, merchantName, amountMinor: Number(amountMinor), currency }
      await harmless(send({ method: 'POST', path, body, answer: DoneAnswer }))
    },
    trust: async (accountNumber, device) => {
      const path = `/accounts/${accountNumber}/devices`
      await harmless(send({ method: 'POST', path, body: { device }, answer: DoneAnswer }))
    },
    collect: async ({ trackingId, accountNumber, amountMinor, description, sandbox }) => {
      const money = { trackingId, accountNumber, amountMinor: Number(amountMinor), currency, description }
      // The field is omitted otherwise, so that a core without sandbox accounts does not have to support it.
      const body = sandbox ? { ...money, sandbox } : money
      const headers = { 'idempotency-key': trackingId }
      const answer = await send({ method: 'POST', path: '/collections', body, headers, answer: CollectAnswer })
      return answer.outcome === 'collected' ? collected(answer) : { outcome: 'refused', reason: answer.reason }
    },
    collectionOf: async ({ trackingId, accountNumber }) => {
      const path = `/collections/${encodeURIComponent(trackingId)}?accountNumber=${accountNumber}`
      const answer = await harmless(send({ method: 'GET', path, answer: CollectionAnswer }))
      return answer.outcome === 'collected' ? collected(answer) : undefined
    },
  }
}

/** Returns a function that sends requests. @throws WalletUnavailableError if nothing was done, WalletOutcomeUnknownError if unknown */
function limited({ url, token, timeoutMs }: WalletCore) {
  const limit = new KeyedLimit({ concurrency: maxRequests, maxWaiting: 0 }, (key) => {
    return new WalletUnavailableError(`${maxRequests} requests to ${key} are in progress`)
  })
  return <Schema extends TSchema>({ path, answer, ...call }: Call<Schema>): Promise<Static<Schema>> =>
    limit.run('the wallet core', async () => {
      try {
        return read(await exchange({ ...call, url: `${url}${path}`, token, timeoutMs }), answer)
      } catch (error) {
        if (!(error instanceof ExchangeFailedError)) throw error
        const message = `the wallet core did not respond: ${error.message}`
        throw error.mayHaveArrived ? new WalletOutcomeUnknownError(message) : new WalletUnavailableError(message)
      }
    })
}

function read<Schema extends TSchema>({ status, text }: ExchangeResponse, form: TypeCheck<Schema>): Static<Schema> {
  if (nothingDone.has(status)) throw new WalletUnavailableError(`the wallet core responded with status ${status}`)
  const answer = status === 200 ? readAnswer(text, form) : undefined
  if (answer === undefined) {
    const what = status === 200 ? 'a body that does not match the contract' : `status ${status}`
    throw new WalletOutcomeUnknownError(`the wallet core responded with ${what}`)
  }
  return answer
}

/** Reports an unknown outcome as unavailable, for requests that can be repeated safely. */
async function harmless<Value>(answer: Promise<Value>): Promise<Value> {
  try {
    return await answer
  } catch (error) {
    throw error instanceof WalletOutcomeUnknownError ? new WalletUnavailableError(error.message) : error
  }
}

function collected({
  amountMinor,
  receiptUrl = null,
}: {
  readonly amountMinor: number
  readonly receiptUrl?: string | null
}): Collection {
  // An invalid link is omitted rather than rejected, because the money is already collected.
  const isLink = receiptUrl !== null && /^https?:\/\//i.test(receiptUrl) && URL.canParse(receiptUrl)
  const kept = isLink && receiptUrl.length <= maxReceiptUrlLength ? receiptUrl : null
  return { outcome: 'collected', amountMinor: BigInt(amountMinor), receiptUrl: kept }
}

/** The responses of a wallet core (docs/reference/wallet-core.openapi.yaml). Additional fields are ignored. */

const AmountMinor = Type.Integer({ minimum: 1, maximum: 999_999_999_999_999 })
const Collected = Type.Object({
  outcome: Type.Literal('collected'),
  amountMinor: AmountMinor,
  receiptUrl: Type.Optional(Type.Union([Type.String(), Type.Null()])),
})
const Refused = Type.Object({
  outcome: Type.Literal('refused'),
  reason: Type.Union([Type.Literal('insufficient-balance'), Type.Literal('account-blocked')]),
})

export const LogInAnswer = TypeCompiler.Compile(
  Type.Union([
    Type.Object({
      outcome: Type.Literal('accepted'),
      accountNumber: Type.Integer({ minimum: 1, maximum: 999_999_999_999 }),
      sandbox: Type.Optional(Type.Boolean()),
    }),
    Type.Object({ outcome: Type.Literal('refused') }),
  ]),
)
export const CodeAnswer = TypeCompiler.Compile(Type.Object({ valid: Type.Boolean() }))
export const TrustAnswer = TypeCompiler.Compile(Type.Object({ trusted: Type.Boolean() }))
export const DoneAnswer = TypeCompiler.Compile(Type.Object({}))
export const CollectAnswer = TypeCompiler.Compile(Type.Union([Collected, Refused]))
export const CollectionAnswer = TypeCompiler.Compile(
  Type.Union([Collected, Type.Object({ outcome: Type.Literal('none') })]),
)

/** Returns the parsed response, or `undefined` if it is not JSON or does not match the schema. */
export function readAnswer<Schema extends TSchema>(text: string, form: TypeCheck<Schema>): Static<Schema> | undefined {
  try {
    const answer: unknown = JSON.parse(text)
    return form.Check(answer) ? answer : undefined
  } catch {
    return undefined
  }
}
