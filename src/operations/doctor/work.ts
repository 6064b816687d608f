import { CallbackCommands } from '../../commands/callback/callback-commands.js'
import { IntegrityCommands } from '../../commands/integrity/integrity-commands.js'
import type { CallbackNetworks } from '../../commands/merchant/callback-networks.js'
import type { MerchantDirectory } from '../../commands/merchant/merchant-directory.js'
import type { Merchant } from '../../domain/merchant/merchant.js'
import { streamPrefix, transferStream } from '../../domain/streams.js'
import { decodeEvent, noKey, UnreadableEventError } from '../../event-store/event-codec.js'
import { type EventStore, firstEventIn, type RecordedEvent } from '../../event-store/event-store.js'
import type { Check } from '../../kernel/check.js'
import { counted } from '../../kernel/text.js'
import { openProblems, placeOf } from '../../projections/event-problems.js'
import { lagCountedTo, projectionStatus } from '../../projections/projection-status.js'
import { type StuckReason, stuckReasons, stuckTransfers } from '../../queries/stuck.js'
import { listTransfers } from '../../queries/transfer-queries.js'
import { collections } from '../../read-models/documents.js'
import type { ReadModels } from '../../read-models/read-models.js'
import { integrityDetails } from '../audit/audit-tree.js'
import type { Configuration } from '../configuration/configuration.js'
import { checking, durationText, integrityRunbook } from './machine.js'

export interface WorkSources {
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly directory: MerchantDirectory
  /** The events because of which merchants or users are unavailable. */
  readonly known: () => readonly UnreadableEventError[]
  readonly clock: () => string
}

const maxNamed = 5
const maxCounted = 1_000
const maxMerchantsChecked = 500

/** Checks each projection, whether or not a node runs it. @throws StoreUnavailableError, ReadModelsUnavailableError */
export async function projectionChecks({ store, readModels }: WorkSources): Promise<readonly Check[]> {
  const runbook = 'docs/operating/runbooks.md#a-projection-is-behind'
  return (await projectionStatus({ store, readModels })).map(({ name, state, lagEvents, holder, failure }) => {
    const projection = checking('projection', name)
    const behind = `${lagEvents < lagCountedTo ? '' : 'At least '}${counted(lagEvents, 'event')} behind`
    const lag = lagEvents === 0 ? 'Not behind' : behind
    if (failure)
      return projection.failed(`It is stopped: ${failure.reason}`, `Run transferd events problems; see ${runbook}`)
    if (state === 'outdated')
      return projection.warning('It must be rebuilt.', `A node with the role projections rebuilds it; see ${runbook}`)
    if (holder === null && lagEvents > 0)
      return projection.failed(`${lag}, and no node runs it.`, `Start a node with the role projections; see ${runbook}`)
    if (lagEvents >= lagCountedTo) return projection.warning(`${lag}; ${holder} runs it.`, runbook)
    return projection.ok(holder === null ? `${lag}; no node runs it.` : `${lag}.`)
  })
}

const stuckSentences: { readonly [reason in StuckReason]: readonly [found: string, advice: string] } = {
  'pending-past-expiry': [
    'deposits are Pending past their expiry',
    'No node expires deposits: start one with the role projections.',
  ],
  'manual-control': ['transfers are in ManualControl', 'Complete or cancel each on the dashboard.'],
  'awaiting-approval': ['withdrawals wait for approval', 'An approver must review them on the dashboard.'],
  'claims-lapse': [
    'withdrawals were claimed repeatedly and not paid',
    'Ask the operators who claimed them why they did not pay.',
  ],
  'in-bank-file': [
    'withdrawals have been in a bank file for a day',
    'Check with the bank: complete each paid one, and release the others.',
  ],
  unpaid: ['withdrawals are unpaid', 'Pay or cancel them.'],
}

export async function stuckChecks({ readModels, directory, clock }: WorkSources): Promise<readonly Check[]> {
  const now = clock()
  const { items, more } = await stuckTransfers({ readModels, merchants: directory }, { now })
  const reasons = Object.keys(stuckReasons) as StuckReason[]
  return reasons.map((reason) => {
    const stuck = checking('stuck', reason)
    const these = items.filter((item) => item.reason === reason)
    const [oldest] = these
    const [sentence, advice] = stuckSentences[reason]
    if (!oldest) return stuck.ok('None.')
    const age = durationText(Date.parse(now) - Date.parse(oldest.since))
    const found = `${these.length}${more.has(reason) ? ' or more' : ''} ${sentence}; ${oldest.trackingId} for ${age}.`
    return reason === 'pending-past-expiry' ? stuck.failed(found, advice) : stuck.warning(found, advice)
  })
}

export async function callbackCheck({ readModels }: WorkSources): Promise<Check> {
  const callbacks = checking('callbacks')
  const count = (status: string) =>
    readModels.collection(collections.callbacks).countDocuments({ status }, { limit: maxCounted })
  const [waiting, parked] = await Promise.all([count('waiting'), count('parked')])
  const most = (n: number) => (n === maxCounted ? `${n} or more` : String(n))
  const found = `${most(waiting)} waiting, ${most(parked)} parked.`
  const advice = 'When the endpoints respond again, run transferd callbacks replay-parked.'
  return parked > 0 ? callbacks.warning(found, advice) : callbacks.ok(found)
}

/** Checks for disabled and failing endpoints. @throws StoreUnavailableError */
export async function endpointCheck(
  { store, directory, clock }: WorkSources,
  networks: CallbackNetworks,
): Promise<Check> {
  const endpoints = checking('endpoints')
  const commands = new CallbackCommands(store, clock)
  const isRefused = ({ settings }: Merchant) => networks.warningOf(settings.callbackUrl, settings.sandbox) === 'refused'
  const merchants = directory.all().filter((merchant) => {
    const { settings, suspended, callbacksDisabled } = merchant
    // Callbacks of a sandbox merchant can fail, but its operator should know that none can be sent.
    return !suspended && (!settings.sandbox || (!callbacksDisabled && isRefused(merchant)))
  })
  const checked = merchants.slice(0, maxMerchantsChecked)
  const states = await Promise.all(
    checked.map(async (merchant) => {
      const { merchantId, callbacksDisabled } = merchant
      if (callbacksDisabled !== null) return `${merchantId} (disabled)`
      if (isRefused(merchant)) return `${merchantId} (its address is refused: see CALLBACK_ALLOWED_NETWORKS)`
      const { failingSince: since } = await commands.endpointState(merchantId)
      return since === null ? [] : `${merchantId} (failing since ${since})`
    }),
  )
  const failing = states.flat()
  const all = checked.length < merchants.length ? `the first ${checked.length}` : String(checked.length)
  if (failing.length === 0) return endpoints.ok(`None of ${all} fails.`)
  const more = failing.length > maxNamed ? ` and ${failing.length - maxNamed} more` : ''
  const found = `${failing.length} of ${all} fail: ${failing.slice(0, maxNamed).join(', ')}${more}.`
  return endpoints.warning(found, 'docs/operating/runbooks.md#an-endpoint-is-dead')
}

export async function eventCheck({ readModels, known }: WorkSources): Promise<Check> {
  const events = checking('events')
  const problems = await openProblems(readModels, known())
  if (problems.length === 0) return events.ok('No unreadable event was found.')
  const named = problems.slice(0, maxNamed).map(placeOf).join(', ')
  const found = `${counted(problems.length, 'event')} cannot be read: ${named}${problems.length > maxNamed ? ' …' : ''}.`
  return events.failed(found, 'Run transferd events problems: see docs/operating/runbooks.md#an-event-cannot-be-read.')
}

/** Reports the findings that stop payouts, and the problems of sealing, as the service recorded them. @throws StoreUnavailableError */
export async function integrityCheck({ store, readModels, clock }: WorkSources): Promise<Check> {
  const integrity = checking('integrity')
  const commands = new IntegrityCommands(store, clock)
  const details = await integrityDetails(commands, readModels)
  if (details.length === 0) return integrity.ok('Payouts are not stopped, and the log is sealed.')
  const isStopped = (await commands.state()).stoppedSince !== null
  return integrity[isStopped ? 'failed' : 'warning'](`Recorded: ${details.join(' ')}`, integrityRunbook)
}

/**
 * Checks the customers' keys with the first and the last transfer. Nothing else would notice lost or outdated keys, because projections do not
 * read events again. @throws StoreUnavailableError, ReadModelsUnavailableError
 */
export async function customerKeysCheck(
  { store, readModels }: WorkSources,
  { eventStore, keyStore }: Pick<Configuration, 'eventStore' | 'keyStore'>,
): Promise<Check> {
  const keys = checking('customer-keys')
  const first = await firstEventIn(store, { streamPrefixes: [streamPrefix.transfer] })
  const { items } = await listTransfers({ readModels }, { limit: 1 })
  const last = await Promise.all(items.map(({ _id }) => store.readStream(transferStream(_id), { maxCount: 1 })))
  const events = [...(first ? [first] : []), ...last.flat()]
  const locked = events.find(isLocked)
  if (!locked && eventStore.engine !== 'embedded' && keyStore.engine === 'embedded')
    return keys.warning(
      `They are in ${keyStore.directory} on this machine, although other nodes can use the log.`,
      'Set KEY_STORE_URL to a MongoDB: see docs/operating/eventstoredb.md#keys-and-receipts.',
    )
  if (events.length === 0) return keys.unknown('There is no transfer to decrypt yet.')
  if (!locked) return keys.ok('They decrypt the first and the last transfer.')
  return keys.failed(
    `None decrypts ${locked.stream}@${locked.revision}.`,
    'Restore the newest copy of the keys: see docs/operating/privacy.md#the-keys.',
  )
}

function isLocked(event: RecordedEvent): boolean {
  try {
    decodeEvent(event)
    return false
  } catch (error) {
    return error instanceof UnreadableEventError && error.reason === noKey
  }
}

/** Checks that the master key decrypts the merchants' secrets. If it decrypts any of them, it is the right key, and others are damaged. */
export function sealedCheck(directory: MerchantDirectory): Check {
  const sealed = checking('sealed-secrets')
  const merchants = directory.all()
  const failed = merchants.filter((merchant) => {
    try {
      directory.secrets(merchant, 'secretKey')
      directory.secrets(merchant, 'webhookSecret')
      return false
    } catch {
      return true
    }
  })
  if (merchants.length === 0) return sealed.unknown('There is no merchant yet.')
  if (failed.length === 0)
    return sealed.ok(`The master key decrypts the secrets of ${counted(merchants.length, 'merchant')}.`)
  if (failed.length === merchants.length)
    return sealed.failed('The master key decrypts none.', 'It is the wrong key: restore the key of this log.')
  const named = failed.slice(0, maxNamed).map(({ merchantId }) => merchantId)
  return sealed.failed(
    `The secrets of ${named.join(', ')} cannot be decrypted.`,
    'They are damaged: rotate the secrets of these merchants.',
  )
}
