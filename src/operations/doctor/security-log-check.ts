import { streamPrefix } from '../../domain/streams.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { Check } from '../../kernel/check.js'
import type { SecretBox } from '../../security/secret-box.js'
import type { Configuration } from '../configuration/configuration.js'
import { verifySecurityLog } from '../logging/security-log-chain.js'
import { checking } from './machine.js'

const advice = 'docs/reference/security-log.md#the-chain-of-securitylog'
/** The events among which the first command is searched for. Usually it creates the first merchant. */
const maxEvents = 1_000

/** Checks that no line of this machine's `security.log` is missing or edited. */
export async function securityLogCheck(
  { dataDirectory, eventStore }: Pick<Configuration, 'dataDirectory' | 'eventStore'>,
  store: EventStore,
  box: SecretBox,
): Promise<Check> {
  const log = checking('security-log', dataDirectory)
  try {
    const { from, to, correlationIds, problems } = verifySecurityLog(dataDirectory, box)
    if (problems[0] !== undefined) return log.failed(problems.slice(0, 5).join(' '), advice)
    // Commands on a log on a server can run on other machines, which have their own files.
    const first = eventStore.engine === 'embedded' && from <= 1 ? await firstCommand(store) : undefined
    if (first && !correlationIds.has(first.correlationId))
      return log.warning(`It does not contain a command that changed the log on ${first.at}.`, advice)
    return log.ok(to === 0 ? 'No command has been logged here.' : `Lines ${from} to ${to} are unchanged.`)
  } catch (error) {
    return log.failed(`It cannot be read: ${(error as Error).message}.`, 'Give the user of the service read access.')
  }
}

async function firstCommand(store: EventStore) {
  const streamPrefixes = [streamPrefix.merchant, streamPrefix.user, streamPrefix.wallet]
  const { events } = await store.readAll({ maxCount: maxEvents, streamPrefixes })
  const first = events.find(({ metadata: { actor } }) => String(actor).startsWith('cli:'))
  return first && { correlationId: first.metadata.$correlationId, at: new Date(first.recordedAtMs).toISOString() }
}
