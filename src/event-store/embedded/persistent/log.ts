import type { EmbeddedLog } from '../embedded-event-store.js'

/** What groups need of the engine beneath them. */
export type GroupLog = Pick<
  EmbeddedLog,
  'append' | 'readStream' | 'readAll' | 'readLast' | 'lastPosition' | 'waitForCommit' | 'tryLock' | 'isLocked'
>
