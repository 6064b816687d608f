import { randomUUID } from 'node:crypto'
import type { CallbackNetworks, ResolveHost } from '../../commands/merchant/callback-networks.js'
import type { MerchantDirectory } from '../../commands/merchant/merchant-directory.js'
import type { Clock } from '../../kernel/time.js'
import { signCallback } from './callback-signing.js'
import { EndpointConnection } from './endpoint-connection.js'

/** No transfer has this id. */
const testTrackingId = '00000000-0000-0000-0000-000000000000'
/** A header of test events only. The signature does not cover it, and the message in the body identifies the test as well. */
const testHeader = 'x-transfer-test'

const testPayload = {
  status: 1,
  referenceId: 'test',
  message: 'This is a test. It does not belong to a transfer.',
  amountMinor: 1_00n,
  transactionAmountMinor: 0n,
  hasAmountMismatch: false,
  receiptUrl: null,
}
const pauseMs = 5_000

interface TestEventDependencies {
  readonly merchants: MerchantDirectory
  readonly resolve: ResolveHost
  readonly networks: CallbackNetworks
  readonly timeoutMs: number
  readonly clock: Clock
}

/** Creates a function that sends a signed sample to a merchant's endpoint and records nothing. It returns `undefined` for an unknown merchant. */
export function createTestEventSender({ merchants, resolve, networks, timeoutMs, clock }: TestEventDependencies) {
  /** The time of each merchant's last test. Tests are limited, so that users cannot flood an endpoint. */
  const testedMs = new Map<string, number>()
  return async (merchantId: string) => {
    const merchant = merchants.byId(merchantId)
    if (!merchant) return undefined
    const nowMs = Date.parse(clock())
    const waitMs = (testedMs.get(merchantId) ?? 0) + pauseMs - nowMs
    if (waitMs > 0) return { sent: false as const, retryAfterSeconds: Math.ceil(waitMs / 1_000) }
    testedMs.set(merchantId, nowMs)
    const delivery = { webhookId: randomUUID(), transferRevision: 0, payload: testPayload }
    const request = await signCallback(merchants, merchant, testTrackingId, delivery, nowMs)
    const connection = new EndpointConnection({ resolve, networks, timeoutMs, maxConnections: 1 })
    try {
      const marked = { ...request, headers: { ...request.headers, [testHeader]: 'true' } }
      return { sent: true as const, response: await connection.send(marked, new AbortController().signal) }
    } finally {
      await connection.close()
    }
  }
}
