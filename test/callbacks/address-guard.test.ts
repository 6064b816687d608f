import t from 'tap'
import { EndpointConnection } from '../../src/callbacks/deliver/endpoint-connection.js'
import { AddressRefusedError, CallbackNetworks } from '../../src/commands/merchant/callback-networks.js'
import { startReceiver } from './receiver.js'

const loopback = ['127.0.0.1', '127.1.2.3', '2130706433', '0x7f.1', '0177.0.0.1', '127.1', '0x7f000001', '[::1]']
const mappedLoopback = ['[::ffff:127.0.0.1]', '[::ffff:7f00:1]']
const refused = [
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '100.100.100.200',
  '0.0.0.0',
  '0',
  '1',
  '255.255.255.255',
  '224.0.0.1',
  '240.0.0.1',
  '192.0.0.192',
  '192.0.2.1',
  '198.18.0.1',
  '203.0.113.9',
  '168.63.129.16',
  '0xa9fea9fe',
  '0251.0376.0251.0376',
  '3232235777',
  '[::]',
  '[fe80::1]',
  '[fec0::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[ff02::1]',
  '[::ffff:10.0.0.1]',
  '[::ffff:169.254.169.254]',
  '[::127.0.0.1]',
  '[::ffff:0:10.0.0.1]',
  '[64:ff9b::a00:1]',
  '[64:ff9b:1::a00:1]',
  '[2002:a00:1::]',
  '[2001:0:a00:1::]',
  '[2001:db8::1]',
  '[100::1]',
]
const allowed = ['8.8.8.8', '134744072', '172.15.255.255', '172.32.0.1', '100.63.255.255', '[2606:4700::1111]']

const networks = new CallbackNetworks([], () => true)
const failingResolver = async () => {
  throw new Error('an address literal must not be resolved')
}

t.test('accepts only public unicast literals, in any notation', async (t) => {
  for (const host of [...refused, ...loopback, ...mappedLoopback]) {
    t.ok(networks.urlProblem(`https://${host}/hook`, false), host)
    await t.rejects(
      networks.checkedAddresses(`https://${host}/hook`, false, failingResolver),
      AddressRefusedError,
      host,
    )
  }
  for (const host of allowed) {
    t.equal(networks.urlProblem(`https://${host}:8443/hook`, false), undefined, host)
    t.equal((await networks.checkedAddresses(`https://${host}/hook`, false, failingResolver)).length, 1, host)
  }
})

t.test('allows a sandbox merchant loopback and plain HTTP, but no other private address', async (t) => {
  for (const host of [...loopback, ...mappedLoopback, 'localhost', 'shop.localhost']) {
    t.equal(networks.urlProblem(`http://${host}:3000/hook`, true), undefined, host)
  }
  for (const host of refused) t.ok(networks.urlProblem(`http://${host}/hook`, true), host)
})

t.test('rejects URLs with another scheme, credentials, a local name or excessive length', async (t) => {
  const invalid = [
    '',
    'shop.example/hook',
    'http://shop.example/hook',
    'ftp://shop.example/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'https://user:password@shop.example/',
    'https://user@shop.example/',
    'https://localhost/',
    'https://LOCALHOST./',
    'https://a.localhost/',
    `https://shop.example/${'x'.repeat(2_048)}`,
  ]
  for (const url of invalid) t.ok(networks.urlProblem(url, false), url)
  t.equal(networks.urlProblem('https://shop.example:8443/hook?a=b', false), undefined)
  t.ok(networks.urlProblem('ftp://shop.example/', true))
})

t.test('requires that every resolved address is public', async (t) => {
  const check = (...addresses: string[]) =>
    networks.checkedAddresses('https://shop.example/', false, async () => addresses)
  t.strictSame(await check('8.8.8.8', '2606:4700::1111'), ['8.8.8.8', '2606:4700::1111'])
  for (const forbidden of [
    '10.0.0.1',
    '127.0.0.1',
    '::1',
    '::ffff:10.0.0.1',
    '169.254.169.254',
    'fe80::1',
    'nonsense',
  ]) {
    await t.rejects(check(forbidden), AddressRefusedError, forbidden)
    await t.rejects(check('8.8.8.8', forbidden), AddressRefusedError, `a public address and ${forbidden}`)
  }
  await t.rejects(check(), AddressRefusedError, 'a name without addresses')
})

t.test('checks the addresses of a name at each attempt', async (t) => {
  const receiver = await startReceiver(t)
  const { port } = new URL(receiver.url)
  const results = [['127.0.0.1'], ['10.0.0.1'], ['127.0.0.1', '169.254.169.254']]
  const connection = new EndpointConnection({
    networks,
    resolve: async () => results.shift()!,
    timeoutMs: 2_000,
    maxConnections: 2,
  })
  t.teardown(() => connection.close())
  const request = { url: `http://rebinding.example:${port}/`, sandbox: true, headers: {}, body: '{}' }
  const { signal } = new AbortController()
  t.match(await connection.send(request, signal), { httpStatus: 200, failure: null })
  t.match(await connection.send(request, signal), { httpStatus: null, failure: 'address refused' })
  t.match(await connection.send(request, signal), { httpStatus: null, failure: 'address refused' })
  t.equal(receiver.received.length, 1)
  t.equal(receiver.received[0]!.headers.host, `rebinding.example:${port}`, 'the Host header contains the name')
})

t.test('connects to the checked address, even if the name now resolves to a different one', async (t) => {
  const receiver = await startReceiver(t)
  // A second query would return an internal address, and `.invalid` names never resolve.
  let queries = 0
  const connection = new EndpointConnection({
    networks,
    resolve: async () => (queries++ === 0 ? ['127.0.0.1'] : ['10.0.0.1']),
    timeoutMs: 2_000,
    maxConnections: 2,
  })
  t.teardown(() => connection.close())
  const url = `http://shop.invalid:${new URL(receiver.url).port}/`
  const response = await connection.send({ url, sandbox: true, headers: {}, body: '{}' }, new AbortController().signal)
  t.match(response, { httpStatus: 200, failure: null })
  t.equal(queries, 1)
})

t.test('throws a programming error instead of recording it as a failure of the endpoint', async (t) => {
  const programmingError = new TypeError('resolve is not a function')
  const failing = (error: Error) => {
    const connection = new EndpointConnection({
      networks,
      resolve: () => Promise.reject(error),
      timeoutMs: 2_000,
      maxConnections: 2,
    })
    t.teardown(() => connection.close())
    const request = { url: 'http://shop.invalid/', sandbox: true, headers: {}, body: '{}' }
    return connection.send(request, new AbortController().signal)
  }
  await t.rejects(failing(programmingError), programmingError)
  const response = await failing(Object.assign(new Error('name not found'), { code: 'ENOTFOUND' }))
  t.match(response, { httpStatus: null, failure: 'name not resolved' })
})
