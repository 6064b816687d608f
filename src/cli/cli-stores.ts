import { type Commands, createCommands } from '../operations/commands.js'
import { readConfiguration } from '../operations/configuration/configuration.js'
import { openLog, openReachableReadModels, requireLog } from '../operations/stores/stores.js'
import type { ReadModels } from '../read-models/read-models.js'
import { operatorContext } from './operator-log.js'
import type { Output } from './output.js'

/** The opened stores and the commands on them. A service may be running on the same stores. */
export type CommandStores = Awaited<ReturnType<typeof openCommandStores>>

/** @throws NoLogError, ConfigurationError, MasterKeyError, CannotOpenLogError, StoreUnavailableError */
export async function openCommandStores(
  environment: NodeJS.ProcessEnv,
  log: 'must exist' | 'may be new',
  output: Output,
) {
  const { notify } = output
  const configuration = readConfiguration(environment)
  if (log === 'must exist') requireLog(configuration)
  const opened = await openLog(configuration, false)
  for (const notice of opened.notices) notify(notice)
  const { eventStore, box } = opened
  const clock = () => new Date().toISOString()
  /** Reads the current merchants from the log. */
  const merchantDirectory = async () => {
    const { MerchantDirectory } = await import('../commands/merchant/merchant-directory.js')
    const directory = new MerchantDirectory(eventStore, box, clock, () => undefined)
    await directory.start()
    await directory.stop()
    return directory
  }
  /** Reads the current users of the dashboard from the log. */
  const userDirectory = async () => {
    const { UserDirectory } = await import('../commands/user/user-commands.js')
    const directory = new UserDirectory(eventStore, () => undefined)
    await directory.catchUp()
    return directory
  }
  let readModels: Promise<ReadModels> | undefined
  const settingsOf = async (merchantId: string) => (await commands.merchants.find(merchantId))?.settings
  const commands: Commands = createCommands(configuration, { store: eventStore, box, clock, settingsOf })
  return {
    ...opened,
    ...output,
    ...commands,
    configuration,
    clock,
    context: operatorContext(),
    /** Opens the read models on first use, because most commands read only the log. @throws ReadModelsUnavailableError */
    readModels() {
      readModels ??= openReachableReadModels(configuration).catch((error: unknown) => {
        // A command that runs until a signal tries again.
        readModels = undefined
        throw error
      })
      return readModels
    },
    merchantDirectory,
    userDirectory,
    /** Returns all merchants. Reports those that are out of service on stderr and omits them. */
    async allMerchants() {
      const directory = await merchantDirectory()
      for (const { problem } of directory.problems())
        notify(`a merchant is out of service: ${problem.message} (events problems)`)
      return directory.all()
    },
    async close() {
      await readModels?.then(
        (stores) => stores.close(),
        () => undefined,
      )
      await opened.close()
    },
  }
}
