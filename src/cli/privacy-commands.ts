import type { Command } from 'commander'
import type { ErasureResult, PrivacyParts } from '../privacy/customer-erasure.js'
import type { PrivacyStatus } from '../privacy/privacy-status.js'
import type { CommandStores } from './cli-stores.js'
import { defineCommand, findMerchant, Refused } from './command.js'
import { matching, reason, text } from './options.js'
import { table } from './readable.js'

interface RetainOptions {
  readonly after: string
  readonly merchant?: string
  readonly reason?: string
  readonly dryRun?: true
}

const listsWithinMs = 600_000
const periodForm = /^([1-9]\d{0,3})(d|m|y)$/

export function addPrivacyCommands(program: Command): void {
  const privacy = program.command('privacy').description('show, export and erase personal data')
  defineCommand(
    privacy
      .command('status')
      .description('the number of customers with a key, erasures, and events with personal data'),
    showStatus,
    {
      text: shownStatus,
    },
  )
  defineCommand(
    privacy
      .command('export <merchantId> <userId>')
      .description('all data about a customer of a merchant, as JSON, to respond to an access request'),
    exportOne,
  )
  const erase = privacy
    .command('erase <merchantId> <userId>')
    .description('erase a customer of a merchant: destroy the key, clear the lists, and compact the files')
    .requiredOption('--reason <text>', 'for auditors', reason)
  defineCommand(erase, eraseOne)
  const retain = privacy
    .command('retain')
    .description('erase the customers without a transfer for a period, and compact the files')
    .requiredOption('--after <period>', 'days, months or years: 90d, 18m, 10y', period)
    .option('--merchant <id>', 'only of this merchant')
    .option('--reason <text>', 'for auditors (default: the rule)', reason)
    .option('--dry-run', 'print the number of customers and change nothing')
  defineCommand(retain, eraseOld)
  defineCommand(
    privacy.command('compact').description('finish erasures, and rewrite the key and list files without erased data'),
    compact,
  )
}

const period = matching((each) => periodForm.test(each), 'It must be a number and d, m or y, such as 90d or 10y.')

async function showStatus(stores: CommandStores): Promise<PrivacyStatus> {
  const { PrivacyStatusCount } = await import('../privacy/privacy-status.js')
  const count = new PrivacyStatusCount(stores.rawEventStore, stores.customerKeys)
  const ids = (await stores.allMerchants()).map(({ merchantId }) => merchantId)
  return count.status(ids, Number.POSITIVE_INFINITY)
}

function shownStatus({ customers, erasures, keysToDestroy, events }: PrivacyStatus, { notify }: CommandStores): string {
  if (keysToDestroy > 0) notify('an erasure is unfinished: run `transferd privacy compact`')
  const rows = [
    { what: 'customers with a key', count: customers },
    { what: 'erasures', count: erasures },
    { what: 'events', count: events.total },
    { what: 'events with personal data encrypted', count: events.sealed },
  ]
  return table(rows, [
    { head: 'WHAT', cell: ({ what }) => what },
    { head: 'COUNT', cell: ({ count }) => String(count), align: 'right' },
  ])
}

async function partsOf(stores: CommandStores): Promise<PrivacyParts> {
  const { eventStore: store, rawEventStore: raw, customerKeys: keys, transfers, clock } = stores
  return { store, raw, keys, readModels: await stores.readModels(), transfers, clock }
}

async function exportOne(stores: CommandStores, _options: object, merchantId: string, userId: string) {
  await findMerchant(stores, merchantId)
  const { exportCustomer } = await import('../privacy/customer-export.js')
  const found = await exportCustomer(await partsOf(stores), { merchantId, userId: customerId(userId) })
  if (!found) throw new Refused('Customer not found.')
  return found
}

async function eraseOne(
  stores: CommandStores,
  options: { readonly reason: string },
  merchantId: string,
  userId: string,
) {
  await findMerchant(stores, merchantId)
  const { eraseCustomer } = await import('../privacy/customer-erasure.js')
  const customer = { merchantId, userId: customerId(userId) }
  const { accepted: _, ...erasure } = erased(
    await eraseCustomer(await partsOf(stores), customer, options.reason, stores.context),
  )
  await clearFiles(stores)
  return erasure
}

async function eraseOld(stores: CommandStores, options: RetainOptions) {
  const { after, merchant: merchantId, dryRun = false } = options
  if (merchantId !== undefined) await findMerchant(stores, merchantId)
  const { eraseOlder } = await import('../privacy/customer-erasure.js')
  const before = momentBefore(stores.clock(), after)
  const rule = { before, merchantId, dryRun, reason: options.reason ?? `without a transfer for ${after}` }
  const retained = await eraseOlder(await partsOf(stores), rule, stores.context)
  if (retained.erased > 0) await clearFiles(stores)
  return retained
}

async function compact(stores: CommandStores) {
  const { finishErasures } = await import('../privacy/customer-erasure.js')
  const finished = await finishErasures(await partsOf(stores), stores.context)
  await clearFiles(stores)
  return { finished }
}

async function clearFiles(stores: CommandStores): Promise<void> {
  const { bringListsUpToDate, compactForgotten } = await import('../operations/stores/bring-up-to-date.js')
  const opened = { ...stores, readModels: await stores.readModels() }
  if (!(await bringListsUpToDate(opened, listsWithinMs)))
    throw new Refused(
      'The customer is erased, but the lists have not caught up. Check `transferd projections status`, then run `transferd privacy compact`.',
    )
  await compactForgotten(stores.configuration, opened)
}

function erased(result: ErasureResult): Extract<ErasureResult, { accepted: true }> {
  if (result.accepted) return result
  if (result.reason === 'unknown-customer') throw new Refused('Customer not found.')
  throw new Refused(`This customer has open transfers: ${result.trackingIds.join(', ')}`)
}

const customerId = text(128)

function momentBefore(now: string, after: string): string {
  const [, count = '', unit = ''] = periodForm.exec(after) ?? []
  const time = new Date(now)
  if (unit === 'd') time.setUTCDate(time.getUTCDate() - Number(count))
  else time.setUTCMonth(time.getUTCMonth() - Number(count) * (unit === 'y' ? 12 : 1))
  return time.toISOString()
}
