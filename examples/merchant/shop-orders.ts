import { randomUUID } from 'node:crypto'
import type { Callback } from './callback-receiver.js'
import type { ApiResponse, MerchantClient } from './merchant-api-client.js'

/** The next step of a native order, for which its page shows a form. */
type NativeStep = 'login' | 'code' | 'device' | 'done'

export interface Order {
  readonly referenceId: string
  readonly way: 'hosted' | 'native' | 'withdrawal'
  /** The amount as text, such as `25.00`, so that the hashed amount equals the sent one. */
  readonly amount: string
  readonly trackingId: string
  /** The address of the payment page of a hosted deposit. */
  readonly url: string
  /** The status in the last verified callback. Only this status decides whether the shop ships the goods. */
  status: string
  /** The transferred amount, which may differ from the order's amount. */
  transactionAmount: number
  step: NativeStep
  token: string
  /** The message to the customer about the last step. */
  problem: string
}

/** The shop's orders, in memory: a real shop has a database. */
export class Orders {
  private readonly orders = new Map<string, Order>()

  constructor(private readonly client: MerchantClient) {}

  all(): readonly Order[] {
    return [...this.orders.values()].reverse()
  }

  find(referenceId: string): Order | undefined {
    return this.orders.get(referenceId)
  }

  async place(way: Order['way'], amount: string, accountNumber: string): Promise<Order> {
    const referenceId = randomUUID()
    const { status, body } = await this.create(way, referenceId, amount, accountNumber)
    if (status !== 200) throw new Error(`the ${way} order was rejected: ${JSON.stringify(body.error)}`)
    // The native endpoints wrap their result, and the hosted one does not.
    const { trackingId, url = '' } = (body.result ?? body) as { trackingId: string; url?: string }
    const state = { status: 'Pending', transactionAmount: 0, step: 'login', token: '', problem: '' } as const
    const order: Order = { referenceId, way, amount, trackingId, url, ...state }
    this.orders.set(referenceId, order)
    return order
  }

  /** Executes a step of a native deposit. The customer's input in `fields` is not stored. */
  async pay(order: Order, fields: URLSearchParams): Promise<void> {
    const { trackingId, token } = order
    const typed = (name: string) => fields.get(name)?.trim() ?? ''
    switch (order.step) {
      case 'login': {
        const response = await this.client.walletLogIn(trackingId, typed('email'), typed('password'))
        if (this.isAccepted(order, response)) this.advance(order, 'code', String(response.body.result))
        return
      }
      case 'code': {
        const response = await this.client.walletCode(trackingId, token, typed('code'))
        if (!this.isAccepted(order, response)) return
        const next = response.body.result as { next_step: string; token: string }
        this.advance(order, next.next_step === 'Completed' ? 'done' : 'device', next.token)
        return
      }
      case 'device':
        if (this.isAccepted(order, await this.client.walletDevice(trackingId, token))) this.advance(order, 'done', '')
        return
      case 'done':
        return
      default:
        order.step satisfies never
    }
  }

  /** Applies a callback, which determines the status (specification, Events). TransactionAmount is the authoritative amount. */
  apply({ RefereneceId, StatusDescription, TransactionAmount }: Callback): void {
    const order = this.orders.get(RefereneceId)
    if (!order) return
    order.status = StatusDescription
    order.transactionAmount = TransactionAmount
  }

  private create(way: Order['way'], referenceId: string, amount: string, accountNumber: string): Promise<ApiResponse> {
    switch (way) {
      case 'hosted':
        return this.client.hostedDeposit(referenceId, amount)
      case 'native':
        return this.client.nativeDeposit(referenceId, amount)
      case 'withdrawal':
        return this.client.withdrawal(referenceId, amount, accountNumber)
      default:
        return way satisfies never
    }
  }

  private isAccepted(order: Order, { body }: ApiResponse): boolean {
    const { code, message, details } = (body.error ?? {}) as {
      code?: number
      message?: string
      details?: string | null
    }
    order.problem = body.success ? '' : (details ?? message ?? 'The step failed.')
    // After an expired or used token, or too many codes, the customer must log in again.
    if (code !== undefined && [40007, 40008, 40009, 40011].includes(code)) order.step = 'login'
    return body.success === true
  }

  private advance(order: Order, step: NativeStep, token: string): void {
    order.step = step
    order.token = token
  }
}
