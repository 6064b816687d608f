/**
 * A sample wallet core for `WALLET_URL` that implements docs/reference/wallet-core.openapi.yaml in memory. It loses all data when it
 * ends, stores passwords in plaintext, and prints messages instead of sending them: it is an example of the contract, not of a wallet.
 *
 *   WALLET_TOKEN=secret node dist/examples/wallet-core.js
 */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pathToFileURL } from 'node:url'

export interface Account {
  readonly email: string
  readonly password: string
  readonly phone: string
  /** Whether the account only pays deposits of sandbox merchants. */
  readonly sandbox: boolean
  balanceMinor: number
}

export interface Message {
  readonly to: string
  readonly code: string | null
  readonly link: string | null
}

export interface WalletCore {
  readonly url: string
  readonly accounts: Map<number, Account>
  openAccount(account: Account): number
  stop(): Promise<void>
}

interface Collected {
  readonly outcome: 'collected'
  readonly amountMinor: number
  readonly receiptUrl: string | null
}

type Fields = { readonly [name: string]: unknown }
type Result = { readonly status: number; readonly body: object }
type Operation = (accountNumber: number, fields: Fields) => Result

const ok = (body: object): Result => ({ status: 200, body })
const notFound: Result = { status: 404, body: { error: 'account not found' } }
const maxBodyBytes = 16_384

export async function startWalletCore(options: {
  readonly token: string
  readonly port?: number
  /** The currency of all accounts. */
  readonly currency?: string
  readonly onMessage: (message: Message) => void
}): Promise<WalletCore> {
  const accounts = new Map<number, Account>()
  const operations = createOperations(accounts, options.currency ?? 'TRY', options.onMessage)
  const server = createServer((request, response) => {
    handle(request, options.token, operations).then(
      (result) => send(response, result),
      () => send(response, { status: 400, body: { error: 'invalid request' } }),
    )
  })
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    accounts,
    openAccount(account) {
      const accountNumber = randomInt(100_000_000_000, 999_999_999_999)
      accounts.set(accountNumber, account)
      return accountNumber
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function createOperations(accounts: Map<number, Account>, ownCurrency: string, onMessage: (message: Message) => void) {
  const codes = new Map<string, string>()
  const devices = new Set<string>()
  const collections = new Map<string, Collected>()
  const key = (accountNumber: number, id: unknown) => `${accountNumber} ${id}`
  const operations: { readonly [name: string]: Operation } = {
    'POST /logins': (_, { email, password }) => {
      const wanted = String(email).trim().toLowerCase()
      for (const [accountNumber, account] of accounts) {
        if (account.email !== wanted || account.password !== password) continue
        return ok({ outcome: 'accepted', accountNumber, sandbox: account.sandbox })
      }
      return ok({ outcome: 'refused' })
    },
    'POST /codes': (accountNumber, { challengeId }) => {
      const account = accounts.get(accountNumber)
      if (!account) return notFound
      const code = codes.get(key(accountNumber, challengeId)) ?? String(randomInt(1_000_000)).padStart(6, '0')
      codes.set(key(accountNumber, challengeId), code)
      onMessage({ to: account.phone, code, link: null })
      return ok({})
    },
    'POST /codes/verifications': (accountNumber, { challengeId, code }) =>
      ok({ valid: codes.get(key(accountNumber, challengeId)) === code }),
    'GET /accounts/devices': (accountNumber, { device }) => ok({ trusted: devices.has(key(accountNumber, device)) }),
    'POST /accounts/devices': (accountNumber, { device }) => {
      if (!accounts.has(accountNumber)) return notFound
      devices.add(key(accountNumber, device))
      return ok({})
    },
    'POST /accounts/device-confirmations': (accountNumber, { confirmUrl }) => {
      const account = accounts.get(accountNumber)
      if (!account) return notFound
      onMessage({ to: account.email, code: null, link: String(confirmUrl) })
      return ok({})
    },
    // Nothing is awaited between the check and the collection, which replaces the transaction of a database.
    'POST /collections': (accountNumber, { trackingId, amountMinor, currency, sandbox = false }) => {
      if (currency !== ownCurrency)
        return { status: 422, body: { error: `the currency of the accounts is ${ownCurrency}` } }
      const existing = collections.get(key(accountNumber, trackingId))
      if (existing) return ok(existing)
      const account = accounts.get(accountNumber)
      if (!account || account.sandbox !== sandbox) return ok({ outcome: 'refused', reason: 'account-blocked' })
      if (typeof amountMinor !== 'number' || !Number.isSafeInteger(amountMinor) || amountMinor <= 0) {
        return { status: 400, body: { error: 'amountMinor must be a whole number above 0' } }
      }
      if (amountMinor > account.balanceMinor) return ok({ outcome: 'refused', reason: 'insufficient-balance' })
      account.balanceMinor -= amountMinor
      const collected: Collected = { outcome: 'collected', amountMinor, receiptUrl: null }
      collections.set(key(accountNumber, trackingId), collected)
      return ok(collected)
    },
    'GET /collections': (accountNumber, { trackingId }) =>
      ok(collections.get(key(accountNumber, trackingId)) ?? { outcome: 'none' }),
  }
  return operations
}

async function handle(
  request: IncomingMessage,
  token: string,
  operations: { readonly [name: string]: Operation },
): Promise<Result> {
  if (request.headers.authorization !== `Bearer ${token}`) return { status: 401, body: { error: 'wrong token' } }
  const url = new URL(request.url ?? '/', 'http://core')
  const fields = request.method === 'POST' ? await readJson(request) : {}
  const [, first = '', id = '', third = '', last] = url.pathname.split('/').map(decodeURIComponent)
  // The path is /accounts/{accountNumber}/devices/{device} or /collections/{trackingId}?accountNumber=, or the body has all fields.
  const isOfAccount = first === 'accounts'
  const isOneCollection = first === 'collections' && id !== ''
  const path = isOfAccount ? `/accounts/${third}` : isOneCollection ? '/collections' : url.pathname
  const accountNumber = Number(isOfAccount ? id : (url.searchParams.get('accountNumber') ?? fields.accountNumber))
  const operation = operations[`${request.method} ${path}`]
  if (!operation) return { status: 404, body: { error: 'unknown operation' } }
  return operation(accountNumber, {
    ...fields,
    ...(last && { device: last }),
    ...(isOneCollection && { trackingId: id }),
  })
}

async function readJson(request: IncomingMessage): Promise<Fields> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk
    if (text.length > maxBodyBytes) throw new Error('the body is too long')
  }
  const fields: unknown = JSON.parse(text)
  if (fields === null || typeof fields !== 'object') throw new Error('the body is not an object')
  return fields as Fields
}

function send(response: ServerResponse, { status, body }: Result): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const token = process.env.WALLET_TOKEN
  if (!token) throw new Error('set WALLET_TOKEN to the same value as for transferd')
  const core = await startWalletCore({
    token,
    port: Number(process.env.PORT ?? 4100),
    onMessage: ({ to, code, link }) => console.log(`to ${to}: ${code ?? link}`),
  })
  const login = { email: 'customer@example.com', password: '123456' }
  const account = { ...login, phone: '+15555550100', sandbox: true, balanceMinor: 1_000_000 }
  const accountNumber = core.openAccount(account)
  console.log(
    `This sample wallet core stores data in memory only. WALLET_URL=${core.url} has account ${accountNumber}:`,
  )
  console.log(`${account.email}, password ${account.password}, balance 10000.00`)
}
