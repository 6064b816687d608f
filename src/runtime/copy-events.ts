import { mkdirSync } from 'node:fs'
import { type CopyOptions, type CopyReport, copyLog } from '../event-store/copy/copy-log.js'
import { openEmbeddedEventStore } from '../event-store/embedded/embedded-event-store.js'
import type { EventStore } from '../event-store/event-store.js'
import { ConfigurationError, readConfiguration } from './configuration.js'
import { requireLog } from './stores.js'

/** Copies the log at one URL to another, as EVENT_STORE_URL names them. @throws what {@link copyLog} does, ConfigurationError, NoLogError */
export async function copyEvents(
  from: string,
  to: string,
  options: Pick<CopyOptions, 'signal' | 'onProgress'>,
): Promise<CopyReport> {
  const [origin, destination] = [locate('--from', from), locate('--to', to)]
  if (origin.eventStoreDirectory === destination.eventStoreDirectory)
    throw new ConfigurationError(['--from and --to name the same log'])
  requireLog(origin)
  const source = await openEmbeddedEventStore({ directory: origin.eventStoreDirectory })
  let target: EventStore | undefined
  try {
    mkdirSync(destination.eventStoreDirectory, { recursive: true, mode: 0o700 })
    target = await openEmbeddedEventStore({ directory: destination.eventStoreDirectory })
    return await copyLog({ source, target, ...options })
  } finally {
    await target?.close()
    await source.close()
  }
}

function locate(option: string, url: string) {
  try {
    return readConfiguration({ EVENT_STORE_URL: url })
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    throw new ConfigurationError(error.problems.map((problem) => problem.replace('EVENT_STORE_URL', option)))
  }
}
