/**
 * A small shop with a complete integration: hosted deposits in a frame, native deposits on its own pages, withdrawals, and verified
 * callbacks. Start it in the directory of a service with a sandbox:
 *
 *   node dist/examples/merchant/shop.js
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { pathToFileURL } from 'node:url'
import { type Callback, TransferdClient } from '@transferd/client'
import { CallbackEndpoint, type Credentials, read } from './callback-receiver.js'
import { type Order, Orders } from './shop-orders.js'
import { frontPage, orderPage } from './shop-pages.js'

const ways: readonly string[] = ['hosted', 'native', 'withdrawal'] satisfies Order['way'][]

interface ShopOptions {
  /** The address of the service. */
  readonly baseUrl: string
  readonly credentials: Credentials
  /** The port, or 0 for any free port. */
  readonly port: number
  readonly onCallback?: (callback: Callback) => void
}

/** Starts the shop on loopback. It has a single customer and therefore no sessions. */
export async function startShop({ baseUrl, credentials, port, onCallback = () => {} }: ShopOptions) {
  const orders = new Orders(new TransferdClient({ baseUrl, ...credentials }))
  const endpoint = new CallbackEndpoint((callback) => {
    orders.apply(callback)
    onCallback(callback)
  })
  endpoint.trust(credentials)
  const server = createServer((request, response) => {
    handle(request, response, orders, endpoint, new URL(baseUrl).origin).catch((error: Error) => {
      response.writeHead(500, { 'content-type': 'text/plain' }).end(error.message)
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  return { url, orders, rejected: endpoint.rejected, close: () => server.close() }
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  orders: Orders,
  endpoint: CallbackEndpoint,
  serviceOrigin: string,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://shop')
  const show = (html: string) => response.setHeader('content-type', 'text/html; charset=utf-8').end(html)
  const redirect = (order: Order) => response.writeHead(303, { location: `/orders/${order.referenceId}` }).end()
  const [, , referenceId = '', pay] = pathname.split('/')
  const order = orders.find(pathname === '/return' ? (searchParams.get('referenceId') ?? '') : referenceId)
  if (request.method === 'POST') {
    if (pathname === '/callbacks') return endpoint.receive(request, response)
    const fields = new URLSearchParams(await read(request))
    if (pathname === '/orders') redirect(await place(orders, fields))
    else if (order && pay === 'pay') {
      await orders.pay(order, fields)
      redirect(order)
    } else response.writeHead(404).end()
  } else if (pathname === '/') show(frontPage(orders.all()))
  else if (!order) response.writeHead(404).end()
  // The payment page returns the customer here. The address identifies the order but does not prove its outcome.
  else if (pathname === '/return') redirect(order)
  else show(orderPage(order, serviceOrigin))
}

function place(orders: Orders, fields: URLSearchParams): Promise<Order> {
  const [way, amount, accountNumber] = ['way', 'amount', 'accountNumber'].map((name) => fields.get(name) ?? '')
  if (!ways.includes(way!) || !/^\d{1,6}(\.\d{1,2})?$/.test(amount!))
    throw new Error('an order needs a payment method and an amount')
  return orders.place(way as Order['way'], amount!, accountNumber!)
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { BASE_URL = 'http://127.0.0.1:3000', CREDENTIALS = 'data/sandbox.json', PORT = '4000' } = process.env
  const credentials = JSON.parse(readFileSync(CREDENTIALS, 'utf8')) as Credentials & { merchantId: string }
  const { url } = await startShop({
    baseUrl: BASE_URL,
    credentials,
    port: Number(PORT),
    onCallback: ({ RefereneceId, StatusDescription }) =>
      console.log(`callback: ${RefereneceId} is ${StatusDescription}`),
  })
  console.log(`The shop is at ${url}. Configure its addresses in the service:\n`)
  console.log(
    `npx transferd merchants set ${credentials.merchantId} --callback-url ${url}/callbacks --return-url ${url}/return`,
  )
}
