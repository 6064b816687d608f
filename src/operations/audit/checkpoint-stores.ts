import { keepCheckpoint, keptCheckpoint } from '../../audit/integrity/integrity-status.js'
import type { CheckpointStore } from '../../audit/integrity/kept-checkpoints.js'
import type { KeyStore } from '../../privacy/customer-keys.js'
import type { ReadModels } from '../../read-models/read-models.js'
import type { Configuration } from '../configuration/configuration.js'
import { lastBackupCheckpoint } from '../files/last-backup.js'
import { checkpointInSecurityLog, keepCheckpointInSecurityLog } from '../logging/security-log-chain.js'

/** Returns the stores that keep the newest checkpoint of the log. `readModels` is `undefined` before their file exists. */
export function checkpointStoresOf(
  { dataDirectory }: Pick<Configuration, 'dataDirectory'>,
  readModels: ReadModels | undefined,
  keys: KeyStore,
): readonly CheckpointStore[] {
  const inReadModels = readModels && {
    name: 'the read models',
    read: () => keptCheckpoint(readModels),
    write: (text: string) => keepCheckpoint(readModels, text),
  }
  return [
    ...(inReadModels ? [inReadModels] : []),
    {
      name: "the customers' keys",
      read: () => keys.keptCheckpoint(),
      write: (text) => keys.keepCheckpoint(text),
    },
    {
      name: 'the security log',
      isLocal: true,
      read: async () => checkpointInSecurityLog(dataDirectory),
      write: async (text) => keepCheckpointInSecurityLog(dataDirectory, text),
    },
    {
      name: 'the last backup',
      isLocal: true,
      read: () => lastBackupCheckpoint(dataDirectory),
      // The command `backup` writes it.
      write: async () => undefined,
    },
  ]
}
