import { integrityStatus } from '../../audit/integrity/integrity-status.js'
import type { IntegrityCommands } from '../../commands/integrity/integrity-commands.js'
import type { ReadModels } from '../../read-models/read-models.js'

/** Returns the integrity problems and their consequences as sentences. @throws StoreUnavailableError */
export async function integrityDetails(commands: IntegrityCommands, readModels: ReadModels): Promise<string[]> {
  const { stoppedSince, findings } = await commands.state()
  const status = await integrityStatus(readModels).catch(() => undefined)
  const troubles = [...(status?.troubles ?? [])]
  const [first, ...others] = findings
  if (stoppedSince === null || !first) return troubles
  const more = others.length > 0 ? `, and ${others.length} more` : ''
  const stopped = `payouts are stopped since ${stoppedSince}, as the log does not verify: ${first.place}: ${first.problem}`
  return [`${stopped}${more} (transferd audit verify)`, ...troubles]
}
