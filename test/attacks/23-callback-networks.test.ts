import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { EndpointConnection } from '../../src/callbacks/deliver/endpoint-connection.js'
import { callbackNetworks } from '../../src/commands/merchant/callback-networks.js'
import { startReceiver } from '../callbacks/receiver.js'
import { runCli } from '../cli/in-process.js'
import { signInAs } from '../support/dashboard.js'
import { temporaryDirectory } from '../support/processes.js'
import { destroyTestService, startTestService, type TestServiceOptions } from '../support/test-service.js'

const started = async (t: Test, options: TestServiceOptions = {}) => {
  const service = await startTestService(options)
  t.teardown(() => destroyTestService(service))
  return service
}
const secret = (_received: unknown, response: ServerResponse) =>
  void response.writeHead(403).end('the content of an internal page')

t.test(
  'no merchant of a live installation reaches loopback, even with an endpoint from the time of trials',
  async (t) => {
    const service = await started(t)
    const internal = await startReceiver(t, secret)
    const trial = await service.merchant({ sandbox: true, callbackUrl: internal.url })
    const before = await service.http.testEndpoint(trial.id)
    t.match(
      before,
      { response: { httpStatus: 403, excerpt: 'the content of an internal page' } },
      'the sandbox reaches it',
    )

    await service.merchant({ sandbox: false, callbackUrl: 'https://shop.example/callbacks' })
    const other = await service.merchant({ sandbox: true, callbackUrl: internal.url })
    const after = await service.http.testEndpoint(other.id)
    t.match(after, { response: { httpStatus: null, failure: 'address refused' } })
    t.notMatch(JSON.stringify(after), 'internal page')
    t.equal(internal.received.length, 1)
  },
)

t.test('a connection that reached loopback is not used once a live merchant exists', async (t) => {
  const internal = await startReceiver(t)
  let isSandbox = true
  const networks = callbackNetworks({ sandbox: 'auto', callbackAllowedNetworks: [] }, { isSandbox: () => isSandbox })
  const connection = new EndpointConnection({
    networks,
    resolve: async () => ['127.0.0.1'],
    timeoutMs: 2_000,
    maxConnections: 1,
  })
  t.teardown(() => connection.close())
  const { port } = new URL(internal.url)
  const signal = new AbortController().signal
  const send = (host: string) =>
    connection.send({ url: `http://${host}:${port}/`, sandbox: true, headers: {}, body: '{}' }, signal)
  for (const host of ['127.0.0.1', 'localhost', 'shop.example']) {
    isSandbox = true
    t.match(await send(host), { httpStatus: 200 }, host)
    isSandbox = false
    t.match(await send(host), { httpStatus: null, failure: 'address refused' }, host)
  }
})

t.test('an administrator cannot set such an endpoint, and learns what happens to one', async (t) => {
  for (const mode of ['off', 'live merchant'] as const) {
    const service = await started(t, mode === 'off' ? { configuration: { sandbox: 'off' } } : {})
    const internal = await startReceiver(t)
    const trial = await service.merchant({ sandbox: true, callbackUrl: internal.url })
    if (mode !== 'off') await service.merchant({ sandbox: false, callbackUrl: 'https://shop.example/callbacks' })
    const admin = await signInAs(service, 'administrator')
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '10.0.0.7', '169.254.169.254']) {
      const merchant = { name: 'Trial', callbackUrl: `http://${host}:8080/`, allowIps: ['127.0.0.1'], sandbox: true }
      const created = await admin.post('/merchants', merchant)
      t.equal(created.statusCode, 400, `${mode}: ${host}`)
      t.match(created.body, /"rule":"url-not-allowed"/)
    }
    const { endpointWarning, revision } = (await admin.get(`/merchants/${trial.id}`)).json()
    t.equal(endpointWarning, 'refused', mode)
    const renamed = await admin.patch(`/merchants/${trial.id}`, { name: 'Renamed', revision })
    t.equal(renamed.statusCode, 200, 'its other settings can still be changed')
    t.equal(internal.received.length, 0)
  }
})

t.test('the operator can allow named networks, but no address that gives credentials', async (t) => {
  const callbackAllowedNetworks = ['10.1.0.0/16', '127.0.0.0/8', '169.254.0.0/16', 'fd00::/8', '168.63.129.16']
  const service = await started(t, { configuration: { sandbox: 'off', callbackAllowedNetworks } })
  const internal = await startReceiver(t)
  const { id } = await service.merchant({ sandbox: true, callbackUrl: internal.url })
  t.match(await service.http.testEndpoint(id), { response: { httpStatus: 200 } })
  const { networks } = service.http
  for (const sandbox of [true, false]) {
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '127.0.0.1', 'fd12::1'])
      t.ok(networks.allows(address, sandbox), address)
    const refused = [
      ...['10.2.0.1', '::1', '168.63.129.16', '169.254.169.254', '::ffff:169.254.169.254'],
      // The containers of ECS, and the pods of EKS.
      ...['169.254.170.2', '169.254.170.23', 'fd00:ec2::23', 'fd00:ec2:0:0::23'],
      ...['fd00:ec2::254', 'fd20:ce::254', 'fd00:c1::a9fe:a9fe', 'fd00:42::42'],
    ]
    for (const address of refused) t.notOk(networks.allows(address, sandbox), address)
  }
  t.equal(networks.urlProblem('https://10.1.2.3/', false), undefined)
  t.match(networks.urlProblem('http://10.1.2.3/', false), { rule: 'url-not-https' }, 'a live merchant needs TLS there')
})

t.test('a new URL is checked, and the response says what will happen', async (t) => {
  const addresses: { [name: string]: readonly string[] } = {
    'shop.example': ['93.184.216.34'],
    'inside.example': ['93.184.216.34', '10.0.0.7'],
    'trial.example': ['127.0.0.1'],
    'both.example': ['93.184.216.34', '127.0.0.1'],
  }
  const resolveHost = async (name: string) => addresses[name] ?? Promise.reject(new Error('unknown'))
  const service = await started(t, { overrides: { resolveHost } })
  const admin = await signInAs(service, 'administrator')
  const warnings = {
    'http://127.0.0.1:4000/': 'refused-once-live',
    'http://localhost:4000/': 'refused-once-live',
    'https://trial.example/': 'refused-once-live',
    'https://both.example/': 'refused-once-live',
    'https://inside.example/': 'refused',
    'https://typo.example/': 'unresolved',
    'https://shop.example/': null,
  }
  for (const [callbackUrl, warning] of Object.entries(warnings)) {
    const created = await admin.post('/merchants', { name: 'A', callbackUrl, allowIps: ['127.0.0.1'], sandbox: true })
    t.equal(created.json().merchant.endpointWarning, warning, callbackUrl)
    const other = await service.merchant({ sandbox: true, callbackUrl: 'https://shop.example/other' })
    const { revision } = (await admin.get(`/merchants/${other.id}`)).json()
    const changed = await admin.patch(`/merchants/${other.id}`, { callbackUrl, revision })
    t.equal(changed.json().endpointWarning, warning, callbackUrl)
  }
})

t.test('the command line warns about endpoints when they are set and when the sandbox ends', async (t) => {
  const directory = temporaryDirectory(t)
  const create = (name: string, url: string, ...more: string[]) =>
    runCli(directory, ['merchants', 'create', '--name', name, '--callback-url', url, '--json', ...more])
  const trial = await create('Trial', 'http://127.0.0.1:4000/?key=token-of-the-shop', '--sandbox')
  t.match(trial, { status: 0, stderr: /refused once a live merchant exists/ })
  const { id } = JSON.parse(trial.stdout)
  const live = await create('Shop', 'https://93.184.216.34/')
  t.match(live, { status: 0 })
  t.match(live.stderr, `callbacks of the sandbox merchant ${id} are refused`)
  t.notMatch(live.stderr, 'token-of-the-shop', 'a URL can contain a secret')
  const another = await create('Another', 'http://127.0.0.1:4000/', '--sandbox')
  t.match(another, {
    status: 2,
    stderr: /--callback-url must lead to a public address, or to a network of CALLBACK_ALLOWED_NETWORKS/,
  })
  const environment = { CALLBACK_ALLOWED_NETWORKS: '127.0.0.0/8' }
  const args = ['merchants', 'set', id, '--callback-url', 'http://127.0.0.1:4001/']
  const allowed = await runCli(directory, args, environment)
  t.match(allowed, { status: 0 })
  t.notMatch(allowed.stderr, /refused/)
  const wide = await runCli(directory, args, { CALLBACK_ALLOWED_NETWORKS: '0.0.0.0/1' })
  t.match(wide, { status: 2, stderr: /CALLBACK_ALLOWED_NETWORKS allows callbacks to too many addresses/ })
})
