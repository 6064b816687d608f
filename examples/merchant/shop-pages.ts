import type { Order } from './shop-orders.js'

/** Returns the shop's front page with two ways to pay, a withdrawal and the orders. */
export function frontPage(orders: readonly Order[]): string {
  const rows = orders.map(
    ({ referenceId, way, amount, status, transactionAmount }) =>
      `<tr><td><a href="/orders/${referenceId}">${referenceId}</a><td>${way}<td>${amount}<td>${status}<td>${transactionAmount}`,
  )
  return page(
    'Example shop',
    `<form method="post" action="/orders"><p><label>Amount <input name="amount" value="25.00" inputmode="decimal"></label>
<p><button name="way" value="hosted">Pay on the payment page</button> <button name="way" value="native">Pay here</button>
<p><label>Destination account <input name="accountNumber" value="DE89370400440532013000"></label>
<p><button name="way" value="withdrawal">Withdraw</button></form>
<table><tr><th>Order<th>Way<th>Amount<th>Status by callback<th>Transferred${rows.join('')}</table>`,
  )
}

/**
 * Returns the page of an order with its state according to callbacks, and with the payment while the order is Pending.
 * @param serviceOrigin The origin of the payment page.
 */
export function orderPage(order: Order, serviceOrigin: string): string {
  const state = `<p>Amount ${order.amount}, status <strong id="status">${order.status}</strong>, transferred ${order.transactionAmount}</p>`
  const body = order.status === 'Pending' ? payment(order, serviceOrigin) : ''
  return page(`Order ${order.referenceId}`, `${state}${body}<p><a href="/">All orders</a></p>`)
}

function payment(order: Order, serviceOrigin: string): string {
  switch (order.way) {
    case 'hosted':
      // The message only triggers a reload and proves nothing, because any page can send one. Therefore the script checks the
      // origin, and the page shows the status of the callback.
      return `<iframe src="${escapeHtml(order.url)}" title="Payment" width="430" height="720"></iframe>
<script>addEventListener('message', ({ origin, data }) => {
  const ours = origin === ${JSON.stringify(serviceOrigin)} && data.source === 'transferd'
  if (ours && data.status !== 'Pending') setTimeout(() => location.reload(), 1500)
})</script>`
    case 'native':
      return native(order)
    case 'withdrawal':
      return '<p>Waiting to be paid by the operator.</p>'
    default:
      return order.way satisfies never
  }
}

function native({ referenceId, step, problem }: Order): string {
  const alert = problem ? `<p role="alert">${escapeHtml(problem)}</p>` : ''
  const form = (fields: string, button: string) =>
    `${alert}<form method="post" action="/orders/${referenceId}/pay">${fields}<p><button>${button}</button></form>`
  switch (step) {
    case 'login':
      return form(
        `<p><label>Wallet email <input name="email" type="email" autocomplete="username"></label>
<p><label>Password <input name="password" type="password" inputmode="numeric" autocomplete="current-password"></label>`,
        'Continue',
      )
    case 'code':
      return form('<p><label>Code <input name="code" inputmode="numeric" autocomplete="one-time-code"></label>', 'Pay')
    case 'device':
      return form('<p>Confirm the device with the button in our email.</p>', 'I have confirmed')
    case 'done':
      return '<p>Paid. The callback will arrive shortly.</p>'
    default:
      return step satisfies never
  }
}

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><style>body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}td,th{padding:.25rem .75rem;text-align:left}iframe{border:0}</style>
<h1>${title}</h1>${body}</html>`
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}
