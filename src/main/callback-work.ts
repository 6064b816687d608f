import { callbackMetrics } from '../callbacks/callback-metrics.js'
import { defaultCallbackTiming } from '../callbacks/callback-timing.js'
import { startCallbacks } from '../callbacks/callbacks.js'
import { createHostResolver } from '../callbacks/deliver/endpoint-connection.js'
import { onlyNeeded } from '../callbacks/needed-events.js'
import { callbackNetworks } from '../commands/merchant/callback-networks.js'
import { createCommands } from '../operations/commands.js'
import { protectedStore } from '../operations/stores/stores.js'
import type { Part } from '../subscriptions/under-lease.js'
import type { BackgroundParts } from './background.js'

/** Starts the work of the role `callbacks`. */
export function startCallbackWork(parts: BackgroundParts): Part {
  const { configuration, rawStore, merchants, keys, box, registry } = parts
  const settingsOf = async (merchantId: string) => merchants.settingsOf(merchantId)
  const commands = createCommands(configuration, { ...parts, settingsOf })
  return startCallbacks({
    ...parts,
    // Checking, decrypting and folding each create took more than half of this thread's time.
    followed: (isNeeded) => protectedStore(onlyNeeded(rawStore, isNeeded), box, keys),
    commands: commands.callbacks,
    merchantCommands: commands.merchants,
    resolve: createHostResolver(),
    networks: callbackNetworks(configuration, merchants),
    random: Math.random,
    metrics: callbackMetrics(registry),
    timing: { ...defaultCallbackTiming, attemptTimeoutMs: configuration.callbackTimeoutMs },
  })
}
