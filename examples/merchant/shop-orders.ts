import { randomUUID } from 'node:crypto'
import type { Callback } from './callback-receiver.js'
import type { Answer, MerchantClient } from './merchant-api-client.js'

/** Where a native order is: what its page asks the customer for next. */
export type NativeStep = 'log-in' | 'code' | 'device' | 'done'

export interface Order {
  readonly referenceId: string
  readonly way: 'hosted' | 'native' | 'withdrawal'
  /** As text, such as `25.00`: what is hashed is what is sent. */
  readonly amount: string
  readonly trackingId: string
  /** Where a hosted deposit is paid. */
  readonly url: string
  /** What the last verified callback said; nothing else decides whether goods are sent. */
  status: string
  /** What was really transferred: it may differ from the amount. */
  transactionAmount: number
  step: NativeStep
  token: string
  /** What to tell the customer about the last step. */
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
    if (status !== 200) throw new Error(`the ${way} order was refused: ${JSON.stringify(body.error)}`)
    // The native endpoints wrap their result, the hosted one does not.
    const { trackingId, url = '' } = (body.result ?? body) as { trackingId: string; url?: string }
    const state = { status: 'Pending', transactionAmount: 0, step: 'log-in', token: '', problem: '' } as const
    const order: Order = { referenceId, way, amount, trackingId, url, ...state }
    this.orders.set(referenceId, order)
    return order
  }

  /** One step of a native deposit; `fields` are what the customer typed, and are kept nowhere. */
  async pay(order: Order, fields: URLSearchParams): Promise<void> {
    const { trackingId, token } = order
    const typed = (name: string) => fields.get(name)?.trim() ?? ''
    switch (order.step) {
      case 'log-in': {
        const answer = await this.client.walletLogIn(trackingId, typed('email'), typed('password'))
        if (this.took(order, answer)) this.goOn(order, 'code', String(answer.body.result))
        return
      }
      case 'code': {
        const answer = await this.client.walletCode(trackingId, token, typed('code'))
        if (!this.took(order, answer)) return
        const next = answer.body.result as { next_step: string; token: string }
        this.goOn(order, next.next_step === 'Completed' ? 'done' : 'device', next.token)
        return
      }
      case 'device':
        if (this.took(order, await this.client.walletDevice(trackingId, token))) this.goOn(order, 'done', '')
        return
      case 'done':
        return
      default:
        order.step satisfies never
    }
  }

  /** The callback decides (specification, Events). TransactionAmount is the amount to believe. */
  apply({ RefereneceId, StatusDescription, TransactionAmount }: Callback): void {
    const order = this.orders.get(RefereneceId)
    if (!order) return
    order.status = StatusDescription
    order.transactionAmount = TransactionAmount
  }

  private create(way: Order['way'], referenceId: string, amount: string, accountNumber: string): Promise<Answer> {
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

  private took(order: Order, { body }: Answer): boolean {
    const { code, message, details } = (body.error ?? {}) as {
      code?: number
      message?: string
      details?: string | null
    }
    order.problem = body.success ? '' : (details ?? message ?? 'It did not work.')
    // An expired or used token, or too many codes: begin again with another log-in.
    if (code !== undefined && [40007, 40008, 40009, 40011].includes(code)) order.step = 'log-in'
    return body.success === true
  }

  private goOn(order: Order, step: NativeStep, token: string): void {
    order.step = step
    order.token = token
  }
}
