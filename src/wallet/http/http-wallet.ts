import type { Static, TSchema } from '@sinclair/typebox'
import type { TypeCheck } from '@sinclair/typebox/compiler'
import type { Currency } from '../../domain/money.js'
import { normalEmail } from '../../domain/password-rules.js'
import { KeyedLimit } from '../../kernel/concurrency.js'
import { Type, TypeCompiler } from '../../kernel/typebox.js'
import { ExchangeFailedError, type ExchangeRequest, type ExchangeResponse, exchange } from '../exchange.js'
import { type Collection, type Wallet, WalletOutcomeUnknownError, WalletUnavailableError } from '../wallet.js'

interface WalletCore extends Pick<ExchangeRequest, 'url' | 'token' | 'timeoutMs'> {
  readonly currency: Currency
}

/** The statuses that guarantee that the core did nothing. After any other error, the outcome is unknown. */
const nothingDone: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 413, 415, 422, 429])
const maxRequests = 64
const maxReceiptUrlLength = 2_048

// The responses of a wallet core (docs/reference/wallet-core.openapi.yaml). Additional fields are ignored.

const Collected = Type.Object({
  outcome: Type.Literal('collected'),
  amountMinor: Type.Integer({ minimum: 1, maximum: 999_999_999_999_999 }),
  receiptUrl: Type.Optional(Type.Union([Type.String(), Type.Null()])),
})
const Refused = Type.Object({
  outcome: Type.Literal('refused'),
  reason: Type.Union([Type.Literal('insufficient-balance'), Type.Literal('account-blocked')]),
})
const LoggedIn = Type.Object({
  outcome: Type.Literal('accepted'),
  accountNumber: Type.Integer({ minimum: 1, maximum: 999_999_999_999 }),
  sandbox: Type.Optional(Type.Boolean()),
})
export const LogInResponse = TypeCompiler.Compile(
  Type.Union([LoggedIn, Type.Object({ outcome: Type.Literal('refused') })]),
)
export const CodeResponse = TypeCompiler.Compile(Type.Object({ valid: Type.Boolean() }))
export const TrustResponse = TypeCompiler.Compile(Type.Object({ trusted: Type.Boolean() }))
export const DoneResponse = TypeCompiler.Compile(Type.Object({}))
export const CollectResponse = TypeCompiler.Compile(Type.Union([Collected, Refused]))
export const CollectionResponse = TypeCompiler.Compile(
  Type.Union([Collected, Type.Object({ outcome: Type.Literal('none') })]),
)

/** Creates a wallet that calls a core over HTTP (docs/reference/wallet-core.openapi.yaml). No request is retried automatically. */
export function createHttpWallet(core: WalletCore): Wallet {
  const send = limited(core)
  const get = <Schema extends TSchema>(path: string, response: TypeCheck<Schema>) =>
    harmless(send(response, { method: 'GET', url: path }))
  const post = <Schema extends TSchema>(path: string, body: object, response: TypeCheck<Schema>) =>
    harmless(send(response, { method: 'POST', url: path, body }))
  const moneyOf = (amountMinor: bigint) => ({ amountMinor: Number(amountMinor), currency: core.currency.code })
  return {
    logIn: async (email, password) => {
      // Attempts are counted by this form. The core receives no other one, which would allow uncounted guesses.
      const normal = normalEmail(email)
      if (normal === undefined) return { outcome: 'refused' }
      const response = await post('/logins', { email: normal, password }, LogInResponse)
      return response.outcome === 'refused' ? response : { ...response, sandbox: response.sandbox ?? false }
    },
    sendCode: async ({ id: challengeId, accountNumber }, { merchantName, amountMinor }) => {
      await post('/codes', { challengeId, accountNumber, merchantName, ...moneyOf(amountMinor) }, DoneResponse)
    },
    verifyCode: async ({ id: challengeId, accountNumber }, code) =>
      (await post('/codes/verifications', { challengeId, accountNumber, code }, CodeResponse)).valid,
    isTrusted: async (accountNumber, device) =>
      (await get(`/accounts/${accountNumber}/devices/${encodeURIComponent(device)}`, TrustResponse)).trusted,
    requestTrust: async ({ accountNumber, confirmUrl, merchantName, amountMinor }) => {
      const body = { confirmUrl, merchantName, ...moneyOf(amountMinor) }
      await post(`/accounts/${accountNumber}/device-confirmations`, body, DoneResponse)
    },
    trust: async (accountNumber, device) => {
      await post(`/accounts/${accountNumber}/devices`, { device }, DoneResponse)
    },
    collect: async ({ trackingId, accountNumber, amountMinor, description, sandbox }) => {
      const money = { trackingId, accountNumber, ...moneyOf(amountMinor), description }
      // The field is omitted otherwise, so that a core without sandbox accounts does not have to support it.
      const body = sandbox ? { ...money, sandbox } : money
      const headers = { 'idempotency-key': trackingId }
      const response = await send(CollectResponse, { method: 'POST', url: '/collections', body, headers })
      return response.outcome === 'collected' ? collected(response) : { outcome: 'refused', reason: response.reason }
    },
    collectionOf: async ({ trackingId, accountNumber }) => {
      const path = `/collections/${encodeURIComponent(trackingId)}?accountNumber=${accountNumber}`
      const response = await get(path, CollectionResponse)
      return response.outcome === 'collected' ? collected(response) : undefined
    },
  }
}

/** Returns a function that sends requests. @throws WalletUnavailableError if nothing was done, otherwise WalletOutcomeUnknownError */
function limited({ url, token, timeoutMs }: WalletCore) {
  const tooMany = (key: string) => new WalletUnavailableError(`${maxRequests} requests to ${key} are in progress`)
  const limit = new KeyedLimit({ concurrency: maxRequests, maxWaiting: 0 }, tooMany)
  return <Schema extends TSchema>(
    response: TypeCheck<Schema>,
    call: Omit<ExchangeRequest, 'token' | 'timeoutMs'>,
  ): Promise<Static<Schema>> =>
    limit.run('the wallet core', async () => {
      try {
        return read(await exchange({ ...call, url: `${url}${call.url}`, token, timeoutMs }), response)
      } catch (error) {
        if (!(error instanceof ExchangeFailedError)) throw error
        const message = `the wallet core did not respond: ${error.message}`
        throw error.mayHaveArrived ? new WalletOutcomeUnknownError(message) : new WalletUnavailableError(message)
      }
    })
}

function read<Schema extends TSchema>({ status, text }: ExchangeResponse, form: TypeCheck<Schema>): Static<Schema> {
  if (nothingDone.has(status)) throw new WalletUnavailableError(`the wallet core responded with status ${status}`)
  if (status !== 200) throw new WalletOutcomeUnknownError(`the wallet core responded with status ${status}`)
  const response = readResponse(text, form)
  if (response !== undefined) return response
  throw new WalletOutcomeUnknownError('the wallet core responded with a body that does not match the contract')
}

/** Returns `undefined` if the response is not JSON or does not match the schema. */
export function readResponse<Schema extends TSchema>(
  text: string,
  form: TypeCheck<Schema>,
): Static<Schema> | undefined {
  try {
    const response: unknown = JSON.parse(text)
    return form.Check(response) ? response : undefined
  } catch {
    return undefined
  }
}

/** Reports an unknown outcome as unavailable, for requests that can be repeated safely. */
async function harmless<Value>(response: Promise<Value>): Promise<Value> {
  try {
    return await response
  } catch (error) {
    throw error instanceof WalletOutcomeUnknownError ? new WalletUnavailableError(error.message) : error
  }
}

function collected({ amountMinor, receiptUrl = null }: Static<typeof Collected>): Collection {
  // An invalid link is omitted rather than rejected, because the money is already collected.
  const isLink = receiptUrl !== null && /^https?:\/\//i.test(receiptUrl) && URL.canParse(receiptUrl)
  const kept = isLink && receiptUrl.length <= maxReceiptUrlLength ? receiptUrl : null
  return { outcome: 'collected', amountMinor: BigInt(amountMinor), receiptUrl: kept }
}
