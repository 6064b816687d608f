import { pino } from 'pino'
import { Registry } from 'prom-client'
import { callbackMetrics } from '../../src/callbacks/callback-metrics.js'
import { defaultCallbackTiming } from '../../src/callbacks/callback-timing.js'
import { startCallbacks } from '../../src/callbacks/callbacks.js'
import { onlyNeeded } from '../../src/callbacks/needed-events.js'
import { CallbackCommands } from '../../src/commands/callback/callback-commands.js'
import { CallbackNetworks } from '../../src/commands/merchant/callback-networks.js'
import { MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import { MerchantDirectory } from '../../src/commands/merchant/merchant-directory.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { openTestEventStore } from '../support/event-store.js'
import { openTestReadModels } from '../support/read-models.js'

// Delivers the callbacks of a data directory until it is killed. Arguments: the directory and the master key in hex.
const [path = '', masterKey = ''] = process.argv.slice(2)
const clock = () => new Date().toISOString()
const store = await openTestEventStore(path)
const readModels = await openTestReadModels(path)
const secretBox = createSecretBox(Buffer.from(masterKey, 'hex'))
const merchants = new MerchantDirectory(store, secretBox, clock, () => undefined)
await merchants.start()
startCallbacks({
  store,
  followed: (isNeeded) => onlyNeeded(store, isNeeded),
  readModels,
  commands: new CallbackCommands(store, clock),
  merchantCommands: new MerchantCommands(store, clock, secretBox),
  merchants,
  clock,
  random: Math.random,
  resolve: async () => [],
  networks: new CallbackNetworks([], () => true),
  logger: pino({ level: 'silent' }),
  metrics: callbackMetrics(new Registry()),
  timing: defaultCallbackTiming,
})
