import { DirectoryTiles, type NoteSigner } from '@transferd/transparency-log'
import { LogSealer } from '../../src/audit/integrity/log-sealer.js'
import type { EventStore } from '../../src/event-store/event-store.js'

/** Seals all events of the stored log in the tree in `directory`, as the service does every minute. */
export async function sealLog(store: EventStore, directory: string, signer: NoteSigner): Promise<void> {
  const sealer = await LogSealer.open({ store, tiles: new DirectoryTiles(directory) }, signer)
  await sealer.follow(async () => {}, new AbortController().signal)
  await sealer.seal()
}
