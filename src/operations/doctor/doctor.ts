import { MerchantDirectory } from '../../commands/merchant/merchant-directory.js'
import { UserDirectory } from '../../commands/user/user-directory.js'
import { collections, type PointerDocument } from '../../read-models/documents.js'
import { listNodes, type Node } from '../../read-models/nodes.js'
import type { ReadModels } from '../../read-models/read-models.js'
import { type Configuration, type ConfigurationError, readConfiguration } from '../configuration/configuration.js'
import { type OpenedLog, openLog, openReachableReadModels, requireLog } from '../stores/stores.js'
import { type Check, Examined } from './check.js'
import { clockCheck, directoriesOf, diskCheck, versionCheck } from './machine.js'
import { endpointCertificateCheck, portCheck, publicCertificateCheck } from './network.js'
import { auditCheck, backupCheck } from './safekeeping.js'
import {
  callbackCheck,
  customerKeysCheck,
  endpointCheck,
  eventCheck,
  projectionChecks,
  sealedCheck,
  stuckChecks,
  type WorkSources,
} from './work.js'

type Checking = () => Promise<Check | readonly Check[]> | Check | readonly Check[]

/** What a running service can find out about its installation. Never rejects: what cannot be looked at is a check that failed. */
export async function serverChecks(configuration: Configuration, sources: WorkSources): Promise<readonly Check[]> {
  return all([
    ...machineChecks(configuration, sources),
    ...workChecks(sources),
    ...certificateChecks(configuration, sources),
  ])
}

/** The same from outside, whether or not the service runs, and what only somebody outside sees. */
export async function examine(environment: NodeJS.ProcessEnv, clock: () => string): Promise<readonly Check[]> {
  let configuration: Configuration
  try {
    configuration = readConfiguration(environment)
  } catch (error) {
    const { message, problems } = error as ConfigurationError
    const advice = 'Correct the variables: docs/reference/configuration.md.'
    return [new Examined('configuration').failed((problems ?? [message]).join('; '), advice)]
  }
  const checks: Check[] = [new Examined('configuration').ok('It can be used.'), await portCheck(configuration)]
  const log = await openedLog(configuration, checks)
  if (!log) return [...checks, ...(await all(directoriesOf(configuration).map((path) => () => diskCheck(path))))]
  const readModels = await openedReadModels(configuration, checks)
  try {
    checks.push(...(await lookInside(configuration, log, readModels, clock)))
  } finally {
    await readModels?.close()
    await log.close()
  }
  return checks
}

async function lookInside(
  configuration: Configuration,
  { eventStore: store, box }: OpenedLog,
  readModels: ReadModels | undefined,
  clock: () => string,
): Promise<readonly Check[]> {
  const directory = new MerchantDirectory(store, box, clock, () => undefined)
  const users = new UserDirectory(store, () => undefined)
  try {
    await Promise.all([directory.start(), users.start()])
    if (!readModels)
      return [sealedCheck(directory), ...(await all(directoriesOf(configuration).map((path) => () => diskCheck(path))))]
    const known = () => [...directory.problems().map(({ problem }) => problem), ...users.problems()]
    const sources = { store, readModels, directory, known, clock }
    const inside = await serverChecks(configuration, sources)
    return [...inside, ...(await all([() => endpointCertificateCheck(directory, Date.parse(clock()))]))]
  } finally {
    await directory.stop()
    await users.stop()
  }
}

function machineChecks(configuration: Configuration, { readModels, clock }: WorkSources): readonly Checking[] {
  const nodes = () => listNodes(readModels, clock())
  return [
    ...directoriesOf(configuration).map((path) => () => diskCheck(path)),
    async () => clockCheck(Date.parse(clock()), await newestEventMs(readModels), await nodes()),
    async () => auditCheck(configuration.audit.directory, await newestEventMs(readModels)),
    () => backupCheck(configuration.dataDirectory, Date.parse(clock())),
    async () => versionCheck(await nodes()),
    async () => leaseCheck(await nodes()),
  ]
}

function workChecks(sources: WorkSources): readonly Checking[] {
  return [
    () => sealedCheck(sources.directory),
    () => customerKeysCheck(sources),
    () => projectionChecks(sources),
    () => eventCheck(sources),
    () => stuckChecks(sources),
    () => callbackCheck(sources),
    () => endpointCheck(sources),
  ]
}

function certificateChecks({ publicUrl }: Configuration, { clock }: WorkSources): readonly Checking[] {
  return [() => publicCertificateCheck(publicUrl, Date.parse(clock()))]
}

/** Each role must be somebody's, or what it does is left undone. */
function leaseCheck(nodes: readonly Node[]): Check {
  const running = new Examined('nodes')
  const alive = nodes.filter(({ isAlive }) => isAlive)
  if (alive.length === 0) return running.warning('No node gives a sign of life.', 'transferd serve')
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

async function newestEventMs(readModels: ReadModels): Promise<number | null> {
  const stored = (await readModels.collection(collections.pointers).find({})) as readonly PointerDocument[]
  const times = stored.flatMap(({ served }) => served.progress.lastEvent?.recordedAtMs ?? [])
  return times.length === 0 ? null : Math.max(...times)
}

async function openedLog(configuration: Configuration, checks: Check[]): Promise<OpenedLog | undefined> {
  const [key, store] = [new Examined('master-key'), new Examined('event-store', configuration.eventStore.engine)]
  try {
    requireLog(configuration)
    const log = await openLog(configuration)
    const [notice] = log.notices
    checks.push(notice === undefined ? key.ok('It is there.') : key.warning(notice, 'docs/operating/backup.md'))
    checks.push(store.ok('It can be read.'))
    return log
  } catch (error) {
    const { name, message } = error as Error
    const about = name === 'MasterKeyError' ? key : store
    checks.push(about.failed(message, 'docs/operating/runbooks.md#the-event-store-is-unavailable'))
    return undefined
  }
}

async function openedReadModels(configuration: Configuration, checks: Check[]): Promise<ReadModels | undefined> {
  const store = new Examined('read-models', configuration.readModels.engine)
  try {
    const readModels = await openReachableReadModels(configuration)
    checks.push(store.ok('They can be read.'))
    return readModels
  } catch (error) {
    const advice = 'docs/operating/runbooks.md#the-event-store-is-unavailable'
    checks.push(store.failed((error as Error).message, advice))
    return undefined
  }
}

/** One that fails to look does not keep the others from looking. */
async function all(checkings: readonly Checking[]): Promise<readonly Check[]> {
  const done = await Promise.all(
    checkings.map(async (checking) => {
      try {
        return await checking()
      } catch (error) {
        const advice = 'docs/operating/runbooks.md#the-event-store-is-unavailable'
        return new Examined('stores').failed(`A store cannot be read: ${(error as Error).message}`, advice)
      }
    }),
  )
  return done.flat()
}
