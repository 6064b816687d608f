import { setTimeout as delay } from 'node:timers/promises'

import type { CallbackId, CallbackPage } from '@transferd/client'
import { violate } from '../domain/decider.js'

import { Refused, refusedBy } from './failures.js'
import { type Access, MerchantApi } from './merchant-api.js'

/** A developer replays a recent callback. */
const maxPages = 10
/** The list can be older than the log for a moment. */
const lagMs = 3_000
const pauseMs = 250

/**
 * Requests that a callback is sent again. `id` is its webhookId, or the trackingId of a transfer, whose latest callback is then sent. Both are in
 * the stored form and can be shortened. @throws Refused
 */
export async function replayCallback(id: string, access: Access) {
  const api = new MerchantApi(access)
  const { trackingId, webhookId } = await findCallback(api, id)
  const { requeued } = await api.resendCallbacks({ callbacks: [{ trackingId, webhookId }] })
  return { webhookId, trackingId, requeued }
}

async function findCallback(api: MerchantApi, id: string): Promise<CallbackId> {
  const deadline = performance.now() + lagMs
  for (;;) {
    const found = await newestMatch(api, id)
    if (found) return found
    if (performance.now() > deadline) throw refusedBy(violate('unknown-callback'))
    await delay(pauseMs)
  }
}

/** Returns the newest callback of a transfer with this id, or the callback. @throws Refused if the id is ambiguous */
async function newestMatch(api: MerchantApi, id: string): Promise<CallbackId | undefined> {
  let cursor: string | null | undefined
  const matches: CallbackId[] = []
  for (let page = 0; page < maxPages && cursor !== null; page++) {
    const { items, nextCursor }: CallbackPage = await api.listCallbacks({ limit: 100, cursor })
    matches.push(...items.filter(({ webhookId, trackingId }) => webhookId.startsWith(id) || trackingId.startsWith(id)))
    cursor = matches.length > 0 ? null : nextCursor
  }
  const [newest] = matches
  const isAmbiguous = matches.some(({ trackingId }) => trackingId !== newest!.trackingId)
  if (isAmbiguous) throw new Refused('ambiguous-id', `Several callbacks match ${id}. Add more characters.`)
  return newest
}
