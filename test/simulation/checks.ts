import type { Clients } from './clients.js'
import { scheduler } from './environment.js'
import { must } from './violation.js'
import type { World } from './world.js'

/** Checks what must hold when everything has settled. */
export async function eventually(world: World, _clients: Clients): Promise<void> {
  await settled(world)
}

const maxSettlingMs = 60_000

async function settled(world: World): Promise<void> {
  const untilMs = scheduler.nowMs + maxSettlingMs
  for (;;) {
    const missing = unsettled(world)
    if (missing === undefined) return
    must('callbacks', scheduler.nowMs < untilMs, () => missing)
    await scheduler.sleep(500)
  }
}

function unsettled({ model, endpoints }: World): string | undefined {
  for (const [trackingId, { callbacks }] of model.transfers) {
    const received = endpoints.received.get(trackingId)?.length ?? 0
    if (received < callbacks.length) return `callback ${received + 1} of ${trackingId} does not arrive`
  }
  return undefined
}
