import type { Command } from 'commander'
import type { ErasureResult, PrivacyParts } from '../privacy/erasure.js'
import type { PrivacyStatus } from '../privacy/privacy-status.js'
import type { Workplace } from './cli-stores.js'
import { answer, findMerchant, Refused } from './command.js'
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
  const privacy = program.command('privacy').description('personal data: what there is, who asks for it, and its end')
  answer(
    privacy.command('status').description('customers with a key, erasures, and events with personal data'),
    showStatus,
    {
      text: shownStatus,
    },
  )
  answer(
    privacy
      .command('export <merchantId> <userId>')
      .description('all that is known of a customer of a merchant, as JSON, for whoever asks what is'),
    exportOne,
  )
  const erase = privacy
    .command('erase <merchantId> <userId>')
    .description('forget a customer of a merchant: destroy the key, clear the lists, and compact the files')
    .requiredOption('--reason <text>', 'why, for whoever looks at it later', reason)
  answer(erase, eraseOne)
  const retain = privacy
    .command('retain')
    .description('forget the customers without a transfer for so long, and compact the files')
    .requiredOption('--after <period>', 'days, months or years: 90d, 18m, 10y', period)
    .option('--merchant <id>', 'of one merchant only')
    .option('--reason <text>', 'why; the rule itself when absent', reason)
    .option('--dry-run', 'say how many, and change nothing')
  answer(retain, eraseOld)
  answer(
    privacy
      .command('compact')
      .description('leave nothing in files of what was forgotten: finish erasures, and write keys and lists anew'),
    compact,
  )
}

const period = matching((each) => periodForm.test(each), 'It must be a number and d, m or y, such as 90d or 10y.')

async function showStatus(workplace: Workplace): Promise<PrivacyStatus> {
  const { PrivacyStatusCount } = await import('../privacy/privacy-status.js')
  const count = new PrivacyStatusCount(workplace.rawEventStore, workplace.customerKeys)
  const ids = (await workplace.allMerchants()).map(({ merchantId }) => merchantId)
  return count.status(ids, Number.POSITIVE_INFINITY)
}

function shownStatus({ customers, erasures, keysToDestroy, events }: PrivacyStatus, { tell }: Workplace): string {
  if (keysToDestroy > 0) tell('an erasure was not finished: run `transferd privacy compact`')
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

async function partsOf(workplace: Workplace): Promise<PrivacyParts> {
  const { eventStore: store, rawEventStore: raw, customerKeys: keys, transfers, clock } = workplace
  return { store, raw, keys, readModels: await workplace.readModels(), transfers, clock }
}

async function exportOne(workplace: Workplace, _options: object, merchantId: string, userId: string) {
  await findMerchant(workplace, merchantId)
  const { exportCustomer } = await import('../privacy/customer-export.js')
  const found = await exportCustomer(await partsOf(workplace), { merchantId, userId: customerId(userId) })
  if (!found) throw new Refused('Nothing is known of such a customer.')
  return found
}

async function eraseOne(
  workplace: Workplace,
  options: { readonly reason: string },
  merchantId: string,
  userId: string,
) {
  await findMerchant(workplace, merchantId)
  const { eraseCustomer } = await import('../privacy/erasure.js')
  const customer = { merchantId, userId: customerId(userId) }
  const { accepted: _, ...erasure } = erased(
    await eraseCustomer(await partsOf(workplace), customer, options.reason, workplace.context),
  )
  await clearFiles(workplace)
  return erasure
}

async function eraseOld(workplace: Workplace, options: RetainOptions) {
  const { after, merchant: merchantId, dryRun = false } = options
  if (merchantId !== undefined) await findMerchant(workplace, merchantId)
  const { eraseOlder } = await import('../privacy/retention.js')
  const before = momentBefore(workplace.clock(), after)
  const rule = { before, merchantId, dryRun, reason: options.reason ?? `without a transfer for ${after}` }
  const retained = await eraseOlder(await partsOf(workplace), rule, workplace.context)
  if (retained.erased > 0) await clearFiles(workplace)
  return retained
}

async function compact(workplace: Workplace) {
  const { finishErasures } = await import('../privacy/erasure.js')
  const finished = await finishErasures(await partsOf(workplace), workplace.context)
  await clearFiles(workplace)
  return { finished }
}

async function clearFiles(workplace: Workplace): Promise<void> {
  const { bringListsUpToDate, compactForgotten } = await import('../operations/stores/bring-up-to-date.js')
  const stores = { ...workplace, readModels: await workplace.readModels() }
  if (!(await bringListsUpToDate(stores, listsWithinMs)))
    throw new Refused(
      'The customer is erased, but the lists do not catch up: see `transferd projections status`, then run `transferd privacy compact`.',
    )
  await compactForgotten(workplace.configuration, stores)
}

function erased(result: ErasureResult): Extract<ErasureResult, { accepted: true }> {
  if (result.accepted) return result
  if (result.reason === 'unknown-customer') throw new Refused('Nothing is known of such a customer.')
  throw new Refused(`Transfers of this customer are not over yet: ${result.trackingIds.join(', ')}`)
}

const customerId = text(128)

function momentBefore(now: string, after: string): string {
  const [, count = '', unit = ''] = periodForm.exec(after) ?? []
  const moment = new Date(now)
  if (unit === 'd') moment.setUTCDate(moment.getUTCDate() - Number(count))
  else moment.setUTCMonth(moment.getUTCMonth() - Number(count) * (unit === 'y' ? 12 : 1))
  return moment.toISOString()
}
