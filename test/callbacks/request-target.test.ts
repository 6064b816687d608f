import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { EndpointConnection } from '../../src/callbacks/deliver/endpoint-connection.js'
import { CallbackNetworks } from '../../src/commands/merchant/callback-networks.js'

const targets: string[] = []
const server = createServer((request, response) => {
  targets.push(request.url!)
  response.end()
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const networks = new CallbackNetworks([], () => true)
const connection = new EndpointConnection({ resolve: async () => [], networks, timeoutMs: 10_000, maxConnections: 1 })
t.teardown(async () => {
  await connection.close()
  server.close()
})

/** Returns the target of the request line of a callback. */
async function targetOf(rest: string): Promise<string | undefined> {
  const url = `${origin}${rest}`
  t.equal(networks.urlProblem(url, true), undefined, url)
  const { failure } = await connection.send({ url, sandbox: true, headers: {}, body: '' }, new AbortController().signal)
  t.equal(failure, null, url)
  return targets.pop()
}

t.test('requests the path and the query of the callback URL as the merchant has written them', async (t) => {
  const same = ['/cb?sig=a%20b~c&next=/x/y&flag', "/cb?q='a'&%7E=%7e", '/a/../b/./c?', '/%2e%2e/a//b;c=d', '/a|b?{c}^`']
  for (const rest of same) t.equal(await targetOf(rest), rest)
  const completed = [
    ['', '/'],
    ['?a=1', '/?a=1'],
    ['#top', '/'],
    ['/cb?a=1#b?c', '/cb?a=1'],
    ['/ödeme/客?q=a b', '/%C3%B6deme/%E5%AE%A2?q=a%20b'],
    ['/a"b?<c>', '/a%22b?%3Cc%3E'],
    // In a URL, this is a slash.
    ['\\cb', '/cb'],
  ] as const
  for (const [rest, target] of completed) t.equal(await targetOf(rest), target, rest)
})

t.test('requests any path and query of RFC 3986 byte for byte', async () => {
  const characters = [..."azAZ09-._~!$&'()*+,;=:@/", '%20', '%7E', '%27', '/../', '/.', '%2e']
  const text = fc.array(fc.constantFrom(...characters), { maxLength: 30 }).map((parts) => parts.join(''))
  await fc.assert(
    fc.asyncProperty(text, fc.option(text), async (path, query) => {
      const target = `/${path}${query === null ? '' : `?${query}`}`
      return (await targetOf(target)) === target
    }),
    { numRuns: 300 },
  )
})
