/**
 * A small shop that integrates all of it: hosted deposits in a frame, native deposits on its own pages, withdrawals, and callbacks
 * that are verified before they are believed. With a service in its sandbox, in the service's directory:
 *
 *   node dist/examples/merchant/shop.js
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { pathToFileURL } from 'node:url'
import { type Callback, CallbackEndpoint, type Credentials, read } from './callback-receiver.js'
import { MerchantClient } from './merchant-api-client.js'
import { type Order, Orders } from './shop-orders.js'
import { frontPage, orderPage } from './shop-pages.js'

const ways: readonly string[] = ['hosted', 'native', 'withdrawal'] satisfies Order['way'][]

export interface ShopOptions {
  /** The service's. */
  readonly baseUrl: string
  readonly credentials: Credentials
  /** 0: any free one. */
  readonly port: number
  readonly onCallback?: (callback: Callback) => void
}

/** Listens on loopback; it has one customer, so there are no sessions. */
export async function startShop({ baseUrl, credentials, port, onCallback = () => {} }: ShopOptions) {
  const orders = new Orders(new MerchantClient(baseUrl, credentials))
  const endpoint = new CallbackEndpoint((callback) => {
    orders.apply(callback)
    onCallback(callback)
  })
  endpoint.trust(credentials)
  const server = createServer((request, response) => {
    answer(request, response, orders, endpoint, new URL(baseUrl).origin).catch((error: Error) => {
      response.writeHead(500, { 'content-type': 'text/plain' }).end(error.message)
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  return { url, orders, rejected: endpoint.rejected, close: () => server.close() }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  orders: Orders,
  endpoint: CallbackEndpoint,
  serviceOrigin: string,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://shop')
  const show = (html: string) => response.setHeader('content-type', 'text/html; charset=utf-8').end(html)
  const goTo = (order: Order) => response.writeHead(303, { location: `/orders/${order.referenceId}` }).end()
  const [, , referenceId = '', pay] = pathname.split('/')
  const order = orders.find(pathname === '/return' ? (searchParams.get('referenceId') ?? '') : referenceId)
  if (request.method === 'POST') {
    if (pathname === '/callbacks') return endpoint.receive(request, response)
    const fields = new URLSearchParams(await read(request))
    if (pathname === '/orders') goTo(await place(orders, fields))
    else if (order && pay === 'pay') {
      await orders.pay(order, fields)
      goTo(order)
    } else response.writeHead(404).end()
  } else if (pathname === '/') show(frontPage(orders.all()))
  else if (!order) response.writeHead(404).end()
  // Where the payment page sends the customer back to: which order it was, not how it ended.
  else if (pathname === '/return') goTo(order)
  else show(orderPage(order, serviceOrigin))
}

function place(orders: Orders, fields: URLSearchParams): Promise<Order> {
  const [way, amount, accountNumber] = ['way', 'amount', 'accountNumber'].map((name) => fields.get(name) ?? '')
  if (!ways.includes(way!) || !/^\d{1,6}(\.\d{1,2})?$/.test(amount!))
    throw new Error('an order has a way and an amount')
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
  console.log(`The shop is at ${url}. Tell the service where it is:\n`)
  console.log(
    `npx transferd merchants set ${credentials.merchantId} --callback-url ${url}/callbacks --return-url ${url}/return`,
  )
}
