import { isDeepStrictEqual } from 'node:util'
import { type CopyOptions, type CopyReport, copyLog } from '../event-store/copy/copy-log.js'
import type { EventStore } from '../event-store/event-store.js'
import { type Configuration, ConfigurationError, readConfiguration } from './configuration.js'
import { openEventStore, requireLog } from './stores.js'

/** Copies the log at one URL to another, as EVENT_STORE_URL names them. @throws what {@link copyLog} does, ConfigurationError, NoLogError */
export async function copyEvents(
  from: string,
  to: string,
  options: Pick<CopyOptions, 'signal' | 'onProgress'>,
): Promise<CopyReport> {
  const [origin, destination] = [locate('--from', from), locate('--to', to)]
  if (isDeepStrictEqual(origin.eventStore, destination.eventStore))
    throw new ConfigurationError(['--from and --to name the same log'])
  requireLog(origin)
  const source = await open('--from', origin)
  let target: EventStore | undefined
  try {
    target = await open('--to', destination)
    return await copyLog({ source, target, ...options })
  } finally {
    await target?.close()
    await source.close()
  }
}

function locate(option: string, url: string): Configuration {
  try {
    return readConfiguration({ EVENT_STORE_URL: url })
  } catch (error) {
    throw namedAs(option, error)
  }
}

async function open(option: string, { eventStore }: Configuration): Promise<EventStore> {
  try {
    return (await openEventStore(eventStore)).eventStore
  } catch (error) {
    throw namedAs(option, error)
  }
}

function namedAs(option: string, error: unknown): unknown {
  if (!(error instanceof ConfigurationError)) return error
  return new ConfigurationError(error.problems.map((problem) => problem.replace('EVENT_STORE_URL', option)))
}
