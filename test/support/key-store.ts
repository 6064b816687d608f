import type { KeyStore } from '../../src/privacy/customer-keys.js'
import {
  type KeyFile,
  keyFileIn,
  openEmbeddedKeyStore,
  openKeyFile,
} from '../../src/privacy/embedded/embedded-key-store.js'

/** Opens the keys without the thread that writes them, whose start costs as much processor time as a test. */
export function openTestKeyStore(directory: string): KeyStore {
  const store = openEmbeddedKeyStore({ directory })
  let file: KeyFile | undefined
  return {
    ...store,
    async ensure(keys) {
      file ??= openKeyFile(keyFileIn(directory))
      return file.ensure(keys)
    },
    async close() {
      file?.close()
      file = undefined
      await store.close()
    },
  }
}
