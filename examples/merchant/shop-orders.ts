import { randomUUID } from 'node:crypto'
import {
  ApiError,
  type Callback,
  type CreateNativeDepositRequest,
  ErrorCode,
  type TransferdClient,
} from '@transferd/client'

/** After these failures, the customer must log in again. */
const endsLogin = new Set<number | null>([
  ErrorCode.BadToken,
  ErrorCode.ExpiredToken,
  ErrorCode.UsedToken,
  ErrorCode.TooManyCodes,
])
/** The shop has one customer. */
const customer = { userId: '42', name: 'Ada Lovelace', username: 'ada', paymentMethod: 1 }

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
  transactionAmount: string
  step: NativeStep
  token: string
  /** The message to the customer about the last step. */
  problem: string
}

/** The shop's orders, in memory: a real shop has a database. */
export class Orders {
  private readonly orders = new Map<string, Order>()

  constructor(private readonly client: TransferdClient) {}

  all(): readonly Order[] {
    return [...this.orders.values()].reverse()
  }

  find(referenceId: string): Order | undefined {
    return this.orders.get(referenceId)
  }

  async place(way: Order['way'], amount: string, accountNumber: string): Promise<Order> {
    const referenceId = randomUUID()
    const { trackingId, url = '' } = await this.create(way, { ...customer, amount, referenceId }, accountNumber)
    const state = { status: 'Pending', transactionAmount: '0.00', step: 'login', token: '', problem: '' } as const
    const order: Order = { referenceId, way, amount, trackingId, url, ...state }
    this.orders.set(referenceId, order)
    return order
  }

  /** Executes a step of a native deposit. The customer's input in `fields` is not stored. */
  async pay(order: Order, fields: URLSearchParams): Promise<void> {
    try {
      order.problem = ''
      await this.step(order, (name) => fields.get(name)?.trim() ?? '')
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      order.problem = error.details ?? error.message
      if (endsLogin.has(error.code)) order.step = 'login'
    }
  }

  private async step(order: Order, typed: (name: string) => string): Promise<void> {
    const { trackingId, token } = order
    switch (order.step) {
      case 'login': {
        const login = { trackingId, userName: typed('email'), password: typed('password') }
        Object.assign(order, { step: 'code', token: await this.client.walletCustomerLogin(login) })
        return
      }
      case 'code': {
        const verified = await this.client.wallet2Fa({ trackingId, token, code: typed('code') })
        const step = verified.next_step === 'Completed' ? 'done' : 'device'
        Object.assign(order, { step, token: verified.token })
        return
      }
      case 'device': {
        const completed = await this.client.walletValidateUserDevice({ trackingId, token })
        if (completed === null) order.problem = 'The device is not confirmed yet.'
        else order.step = 'done'
        return
      }
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

  private async create(
    way: Order['way'],
    request: CreateNativeDepositRequest,
    accountNumber: string,
  ): Promise<{ readonly trackingId: string; readonly url?: string }> {
    switch (way) {
      case 'hosted':
        return this.client.createHostedDeposit(request)
      case 'native':
        return this.client.createNativeDeposit(request)
      case 'withdrawal':
        return this.client.createWithdrawal({ ...request, accountNumber })
      default:
        return way satisfies never
    }
  }
}
