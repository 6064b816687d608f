import { callbackMetrics } from '../callbacks/callback-metrics.js'
import { defaultCallbackTiming } from '../callbacks/callback-timing.js'
import { startCallbacks } from '../callbacks/callbacks.js'
import { createHostResolver } from '../callbacks/deliver/endpoint-connection.js'
import { CallbackCommands } from '../commands/callback/callback-commands.js'
import { callbackNetworks } from '../commands/merchant/callback-networks.js'
import { MerchantCommands } from '../commands/merchant/merchant-commands.js'
import { runInBackground } from './background.js'

await runInBackground('callbacks', ({ configuration, store, readModels, merchants, box, clock, logger, registry }) =>
  startCallbacks({
    ...{ store, readModels, merchants, clock, logger },
    commands: new CallbackCommands(store, clock),
    merchantCommands: new MerchantCommands(store, clock, box),
    resolve: createHostResolver(),
    networks: callbackNetworks(configuration, merchants),
    random: Math.random,
    metrics: callbackMetrics(registry),
    timing: { ...defaultCallbackTiming, attemptTimeoutMs: configuration.callbackTimeoutMs },
  }),
)
