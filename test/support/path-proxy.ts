import { once } from 'node:events'
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Starts a proxy on loopback that serves another server below a path, and removes the path from each request. `outside` collects the
 * targets of all requests that are not below the path.
 */
export async function startPathProxy(t: { teardown(work: () => unknown): unknown }, path: string) {
  const outside: string[] = []
  let port: number | undefined
  const server = createServer((request, response) => {
    const target = request.url!
    const rest = target.slice(path.length)
    if (!target.startsWith(path) || !/^(\/|\?|$)/.test(rest)) {
      outside.push(target)
      return void response.writeHead(404).end()
    }
    const inner = {
      port,
      method: request.method,
      path: rest.startsWith('/') ? rest : `/${rest}`,
      headers: request.headers,
    }
    const forwarded = send(inner, (answer) => {
      response.writeHead(answer.statusCode!, answer.rawHeaders)
      answer.pipe(response)
    })
    forwarded.on('error', () => response.destroy())
    response.on('close', () => forwarded.destroy())
    request.pipe(forwarded)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    outside,
    forwardTo: (innerPort: number) => {
      port = innerPort
    },
  }
}
