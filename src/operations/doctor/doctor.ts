import { callbackNetworks } from '../../commands/merchant/callback-networks.js'
import { MerchantDirectory } from '../../commands/merchant/merchant-directory.js'
import { UserDirectory } from '../../commands/user/user-commands.js'
import type { Check } from '../../kernel/check.js'
import { newestEventMs } from '../../projections/projection-status.js'
import { listNodes, type Node } from '../../read-models/nodes.js'
import type { ReadModels } from '../../read-models/read-models.js'
import { treeOf } from '../audit/audit-tree.js'
import { type Configuration, type ConfigurationError, readConfiguration } from '../configuration/configuration.js'
import { messageWithRemedy } from '../files/directory-access.js'
import { type OpenedLog, openLog, openReachableReadModels, requireLog } from '../stores/stores.js'
import {
  auditCheck,
  auditCopyCheck,
  backupCheck,
  checking,
  clockCheck,
  directoriesOf,
  diskCheck,
  versionCheck,
} from './machine.js'
import { endpointCertificateCheck, portCheck, publicCertificateCheck } from './network.js'
import { securityLogCheck } from './security-log-check.js'
import {
  callbackCheck,
  customerKeysCheck,
  endpointCheck,
  eventCheck,
  integrityCheck,
  projectionChecks,
  sealedCheck,
  stuckChecks,
  type WorkSources,
} from './work.js'

type Checking = () => Promise<Check | readonly Check[]> | Check | readonly Check[]

const storesAdvice = 'docs/operating/runbooks.md#the-event-store-is-unavailable'

/** Runs the checks of a running service. Never rejects: a check that cannot run has failed. */
export async function serverChecks(
  configuration: Configuration,
  { box, rawEventStore, ...sources }: WorkSources & Pick<OpenedLog, 'box' | 'rawEventStore'>,
): Promise<readonly Check[]> {
  const { readModels, directory, clock } = sources
  const tree = () => treeOf(configuration, sources.store, box)
  const nodes = () => listNodes(readModels, clock())
  const nowMs = () => Date.parse(clock())
  return runAll([
    ...diskChecks(configuration),
    async () => clockCheck(nowMs(), await newestEventMs(readModels), await nodes()),
    async () => auditCheck(configuration.audit.directory, await newestEventMs(readModels), tree),
    () =>
      auditCopyCheck(
        configuration,
        directory.all().some(({ settings }) => !settings.sandbox),
      ),
    () => integrityCheck(sources),
    () => backupCheck(configuration.dataDirectory, nowMs()),
    () => securityLogCheck(configuration, rawEventStore, box),
    async () => versionCheck(await nodes()),
    async () => roleCheck(await nodes()),
    () => sealedCheck(directory),
    () => customerKeysCheck(sources, configuration),
    () => projectionChecks(sources),
    () => eventCheck(sources),
    () => stuckChecks(sources),
    () => callbackCheck(sources),
    () => endpointCheck(sources, callbackNetworks(configuration, directory)),
    () => publicCertificateCheck(configuration.publicUrl, nowMs()),
  ])
}

/** Runs the same checks in a separate process, whether or not a service runs, and the checks that only such a process can run. */
export async function examine(environment: NodeJS.ProcessEnv, clock: () => string): Promise<readonly Check[]> {
  let configuration: Configuration
  try {
    configuration = readConfiguration(environment)
  } catch (error) {
    const { message, problems } = error as ConfigurationError
    const advice = 'Correct the variables: docs/reference/configuration.md.'
    return [checking('configuration').failed((problems ?? [message]).join('; '), advice)]
  }
  const checks: Check[] = [checking('configuration').ok('It is valid.'), await portCheck(configuration)]
  const log = await tryOpenLog(configuration, checks)
  if (!log) return [...checks, ...(await runAll(diskChecks(configuration)))]
  const readModels = await tryOpenReadModels(configuration, checks)
  try {
    checks.push(...(await checkStores(configuration, log, readModels, clock)))
  } finally {
    await readModels?.close()
    await log.close()
  }
  return checks
}

async function checkStores(
  configuration: Configuration,
  { eventStore: store, rawEventStore, box }: OpenedLog,
  readModels: ReadModels | undefined,
  clock: () => string,
): Promise<readonly Check[]> {
  const directory = new MerchantDirectory(store, box, clock, () => undefined)
  const users = new UserDirectory(store, () => undefined)
  try {
    await Promise.all([directory.start(), users.start()])
    if (!readModels) return [sealedCheck(directory), ...(await runAll(diskChecks(configuration)))]
    const known = () => [...directory.problems().map(({ problem }) => problem), ...users.problems()]
    const sources = { store, rawEventStore, box, readModels, directory, known, clock }
    const inside = await serverChecks(configuration, sources)
    return [
      ...inside,
      ...(await runAll([
        () => endpointCertificateCheck(directory, callbackNetworks(configuration, directory), Date.parse(clock())),
      ])),
    ]
  } finally {
    await directory.stop()
    await users.stop()
  }
}

/** Checks the background work of this node, which a separate process cannot know. */
export function backgroundCheck(problems: readonly string[]): Check {
  const background = checking('background')
  if (problems.length === 0) return background.ok('No part of it ends unexpectedly.')
  const found = `${problems.join('; ')}.`
  return background.failed(
    `${found[0]!.toUpperCase()}${found.slice(1)}`,
    'docs/operating/runbooks.md#background-work-only-restarts',
  )
}

function diskChecks(configuration: Configuration): readonly Checking[] {
  return [...directoriesOf(configuration)].map((path) => () => diskCheck(path))
}

function roleCheck(nodes: readonly Node[]): Check {
  const running = checking('nodes')
  const alive = nodes.filter(({ isAlive }) => isAlive)
  if (alive.length === 0) return running.warning('No node is alive.', 'Start one: transferd serve.')
  const missing = (['api', 'projections', 'callbacks'] as const).filter(
    (role) => !alive.some(({ roles }) => roles.includes(role)),
  )
  if (missing.length > 0)
    return running.failed(
      `No node has the role ${missing.join(' or ')}.`,
      'Start one: docs/operating/several-nodes.md.',
    )
  return running.ok(`${alive.length} alive; together they have all roles.`)
}

async function tryOpenLog(configuration: Configuration, checks: Check[]): Promise<OpenedLog | undefined> {
  const [key, store] = [checking('master-key'), checking('event-store', configuration.eventStore.engine)]
  try {
    requireLog(configuration)
    const log = await openLog(configuration)
    const [notice] = log.notices
    checks.push(notice === undefined ? key.ok('It opens the log.') : key.warning(notice, 'docs/operating/backup.md'))
    checks.push(store.ok('It can be read.'))
    return log
  } catch (error) {
    const about = (error as Error).name === 'MasterKeyError' ? key : store
    checks.push(about.failed(messageWithRemedy(error as Error), storesAdvice))
    return undefined
  }
}

async function tryOpenReadModels(configuration: Configuration, checks: Check[]): Promise<ReadModels | undefined> {
  const store = checking('read-models', configuration.readModels.engine)
  try {
    const readModels = await openReachableReadModels(configuration)
    checks.push(store.ok('They can be read.'))
    return readModels
  } catch (error) {
    checks.push(store.failed(messageWithRemedy(error as Error), storesAdvice))
    return undefined
  }
}

async function runAll(checkings: readonly Checking[]): Promise<readonly Check[]> {
  const run = async (checkSubject: Checking) => {
    try {
      return await checkSubject()
    } catch (error) {
      return checking('stores').failed(`A store cannot be read: ${messageWithRemedy(error as Error)}`, storesAdvice)
    }
  }
  return (await Promise.all(checkings.map(run))).flat()
}
