import type { EventStore } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/clock.js'
import { createPasswords } from '../../security/passwords.js'
import type { SecretBox } from '../../security/secret-box.js'
import type { MerchantCommands } from '../merchant/merchant-commands.js'
import { UserCommands } from './user-commands.js'
import { UserDirectory } from './user-directory.js'

export interface UserParts {
  readonly eventStore: EventStore
  readonly box: SecretBox
  readonly clock: Clock
  readonly merchants: MerchantCommands
}

/** Creates the commands for a program that runs one of them, and therefore does not follow the log. */
export function createUserCommands({ eventStore: store, box, clock, merchants }: UserParts) {
  const directory = new UserDirectory(store, () => undefined)
  const isMerchant = async (id: string) => (await merchants.find(id)) !== undefined
  return {
    directory,
    users: new UserCommands({ store, directory, clock, box, passwords: createPasswords(), isMerchant }),
  }
}
