import { CallbackCommands } from '../commands/callbacks.js'
import type { Clock, CommandContext } from '../commands/handle-command.js'
import { MerchantDirectory } from '../commands/merchant-directory.js'
import { MerchantCommands } from '../commands/merchants.js'
import { TransferCommands } from '../commands/transfers.js'
import type { Merchant } from '../domain/merchant/merchant.js'
import { escapeHidden } from '../domain/text.js'
import { type Configuration, readConfiguration } from '../runtime/configuration.js'
import { openStores, requireLog, type Stores } from '../runtime/stores.js'
import { operatorContext } from './operator.js'

/** What a command works with: the stores of the configuration, beside a running service or without one. */
export interface Workplace extends Stores {
  readonly configuration: Configuration
  readonly clock: Clock
  readonly context: CommandContext
  readonly merchants: MerchantCommands
  readonly transfers: TransferCommands
  readonly callbacks: CallbackCommands
}

/** @throws NoLogError, ConfigurationError, MasterKeyError, CannotOpenLogError, ReadModelsUnavailableError */
export async function openWorkplace(
  environment: NodeJS.ProcessEnv,
  log: 'must exist' | 'may be new',
): Promise<Workplace> {
  const configuration = readConfiguration(environment)
  if (log === 'must exist') requireLog(configuration)
  const stores = await openStores(configuration)
  for (const notice of stores.notices) console.error(`transferd: ${notice}`)
  const { eventStore, box } = stores
  const clock = () => new Date().toISOString()
  const merchants = new MerchantCommands(eventStore, clock, box)
  const settingsOf = async (merchantId: string) => (await merchants.find(merchantId))?.settings
  return {
    ...stores,
    configuration,
    clock,
    context: operatorContext(),
    merchants,
    transfers: new TransferCommands(eventStore, clock, settingsOf, configuration.completionGuardFactor),
    callbacks: new CallbackCommands(eventStore, clock),
  }
}

/** Every merchant in the log but those out of service, of which stderr tells. */
export async function allMerchants(workplace: Workplace): Promise<Merchant[]> {
  const directory = await merchantDirectory(workplace)
  for (const { problem } of directory.problems())
    console.error(`transferd: a merchant is out of service: ${escapeHidden(problem.message)} (events problems)`)
  return directory.all()
}

/** As the log has it now. */
export async function merchantDirectory({ eventStore, box, clock }: Workplace): Promise<MerchantDirectory> {
  const directory = new MerchantDirectory(eventStore, box, clock, () => undefined)
  await directory.start()
  await directory.stop()
  return directory
}
