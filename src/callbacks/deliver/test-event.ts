import { randomUUID } from 'node:crypto'
import type { MerchantDirectory } from '../../commands/merchant/merchant-directory.js'
import type { ResolveHost } from './address-guard.js'
import type { Answer } from './send.js'
import { signedCallback } from './sign.js'

/** No transfer has it. */
export const testTrackingId = '00000000-0000-0000-0000-000000000000'
/** On test events and on nothing else. The signature does not cover it; the body says the same. */
export const testHeader = 'x-transfer-test'

const payload = {
  status: 1,
  referenceId: 'test',
  message: 'This is a test; there is no such transfer.',
  amountMinor: 1_00n,
  transactionAmountMinor: 0n,
  hasAmountMismatch: false,
  receiptUrl: null,
}
const pauseMs = 5_000

interface TestEventDependencies {
  readonly merchants: MerchantDirectory
  readonly resolve: ResolveHost
  readonly timeoutMs: number
  readonly clock: () => string
}

export type Tested =
  | { readonly sent: true; readonly answer: Answer }
  | { readonly sent: false; readonly retryAfterSeconds: number }

/**
 * Sends an endpoint what callbacks look like, signed and guarded as they are, to see what it answers. It is nobody's delivery: nothing is
 * recorded of it, and the endpoint is neither disabled nor taken up again by its answer.
 */
export class TestEvents {
  /** When each merchant's endpoint was tested last; people who may do this must not make a hammer of it. */
  readonly #testedMs = new Map<string, number>()

  constructor(private readonly deps: TestEventDependencies) {}

  /** Undefined when there is no such merchant. */
  async send(merchantId: string): Promise<Tested | undefined> {
    const { merchants, resolve, timeoutMs, clock } = this.deps
    const merchant = merchants.byId(merchantId)
    if (!merchant) return undefined
    const nowMs = Date.parse(clock())
    const waitMs = (this.#testedMs.get(merchantId) ?? 0) + pauseMs - nowMs
    if (waitMs > 0) return { sent: false, retryAfterSeconds: Math.ceil(waitMs / 1_000) }
    this.#testedMs.set(merchantId, nowMs)
    const delivery = { webhookId: randomUUID(), transferRevision: 0, payload }
    const request = await signedCallback(merchants, merchant, testTrackingId, delivery, nowMs)
    // Loaded when it is wanted: the client takes a sixth of a start, and this thread sends nothing else.
    const { EndpointConnection } = await import('./send.js')
    const connection = new EndpointConnection({ resolve, timeoutMs, maxConnections: 1 })
    try {
      const marked = { ...request, headers: { ...request.headers, [testHeader]: 'true' } }
      return { sent: true, answer: await connection.send(marked, new AbortController().signal) }
    } finally {
      await connection.close()
    }
  }
}
