import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { TSchema } from '@sinclair/typebox'
import type { TypeCheck } from '@sinclair/typebox/compiler'
import t from 'tap'
import { parse } from 'yaml'
import { startWalletCore } from '../../examples/wallet-core.js'
import {
  CodeResponse,
  CollectionResponse,
  CollectResponse,
  createHttpWallet,
  DoneResponse,
  LogInResponse,
  readResponse,
  TrustResponse,
} from '../../src/wallet/http/http-wallet.js'

interface Schema {
  readonly $ref?: string
  readonly required?: readonly string[]
  readonly properties?: { readonly [name: string]: Schema }
  readonly oneOf?: readonly Schema[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
}
interface Content {
  readonly content: { readonly 'application/json': { readonly schema: Schema; readonly example: object } }
}
interface Operation {
  readonly operationId: string
  readonly requestBody?: Content
  readonly responses: { readonly '200': Content | { readonly $ref: string } }
}

const document = parse(readFileSync('docs/reference/wallet-core.openapi.yaml', 'utf8')) as {
  readonly openapi: string
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
}
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
)

function resolved<Value>(value: Value | { readonly $ref: string }): Value {
  if (typeof value !== 'object' || value === null || !('$ref' in value)) return value as Value
  const steps = String(value.$ref).replace('#/', '').split('/')
  return steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], document) as Value
}

const answers: { readonly [operation: string]: TypeCheck<TSchema> } = {
  logIn: LogInResponse,
  sendCode: DoneResponse,
  verifyCode: CodeResponse,
  isTrusted: TrustResponse,
  trust: DoneResponse,
  requestTrust: DoneResponse,
  collect: CollectResponse,
  collectionOf: CollectionResponse,
}

/** Returns every response that the document allows, with the required fields and constants. */
function smallest(schema: Schema): unknown[] {
  const { oneOf, required = [], properties = {} } = resolved(schema)
  if (oneOf) return oneOf.flatMap(smallest)
  const values = (name: string): unknown[] => {
    const field = resolved(properties[name] ?? {})
    if (field.const !== undefined) return [field.const]
    if (field.enum) return [...field.enum]
    return [/^(valid|trusted)$/.test(name) ? false : 1]
  }
  return required.reduce<object[]>(
    (objects, name) => objects.flatMap((object) => values(name).map((value) => ({ ...object, [name]: value }))),
    [{}],
  )
}

t.test('the document has exactly the operations of the port', async (t) => {
  t.equal(document.openapi, '3.1.0')
  t.same(operations.map(({ operation }) => operation.operationId).sort(), Object.keys(answers).sort())
})

t.test('accepts every response that the document allows, and every example', async (t) => {
  for (const { operation } of operations) {
    const { schema, example } = resolved<Content>(operation.responses['200']).content['application/json']
    const form = answers[operation.operationId]!
    for (const body of [example, ...smallest(schema)])
      t.ok(readResponse(JSON.stringify(body), form), `${operation.operationId} ${JSON.stringify(body)}`)
  }
})

t.test('the example core accepts every example request and requires the token', async (t) => {
  const core = await startWalletCore({ token: 'secret', onMessage: () => undefined })
  t.teardown(() => core.stop())
  const accountNumber = 481_920_375_566
  core.accounts.set(accountNumber, {
    email: 'a@b.example',
    password: '123456',
    phone: '+15550000',
    sandbox: false,
    balanceMinor: 20_000,
  })
  for (const { path, method, operation } of operations) {
    const body = operation.requestBody?.content['application/json'].example
    const filled = path.replace('{accountNumber}', String(accountNumber)).replace(/\{\w+\}/, 'abc')
    const request = (token: string) =>
      fetch(`${core.url}${filled}?accountNumber=${accountNumber}`, {
        method,
        headers: { authorization: `Bearer ${token}` },
        ...(body && { body: JSON.stringify(body) }),
      })
    const response = await request('secret')
    t.equal(response.status, 200, operation.operationId)
    t.ok(readResponse(await response.text(), answers[operation.operationId]!), operation.operationId)
    t.equal((await request('wrong')).status, 401)
  }
})

t.test('the example runs as documented and its customer can log in', async (t) => {
  const page = readFileSync('docs/reference/wallet-core.md', 'utf8')
  t.match(page, 'WALLET_TOKEN=secret node dist/examples/wallet-core.js\n')
  const child = spawn(process.execPath, ['dist/examples/wallet-core.js'], {
    env: { PATH: process.env.PATH, WALLET_TOKEN: 'secret', PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill())
  let output = ''
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    output += chunk
    if (output.includes('balance')) break
  }
  const url = /WALLET_URL=(\S+)/.exec(output)?.[1] ?? ''
  const [, email = '', password = ''] = /(\S+@\S+), password (\d{6})/.exec(output) ?? []
  const wallet = createHttpWallet({ url, token: 'secret', timeoutMs: 30_000, currency: { code: 'TRY', decimals: 2 } })
  t.match(await wallet.logIn(email, password, 'merchant'), { outcome: 'accepted' })
})
