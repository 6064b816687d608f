import type { Command } from 'commander'
import { storedUuid } from '../kernel/uuid.js'
import type { PrivacyParts } from '../privacy/customer-erasure.js'
import type { CommandStores } from './cli-stores.js'
import { defineCommand, findMerchant, Refused } from './command.js'
import { flag, matching, option, reason, required, text } from './options.js'
import { table } from './readable.js'

const listsWithinMs = 600_000
const periodForm = /^([1-9]\d{0,3})(d|m|y)$/
const period = matching((each) => periodForm.test(each), 'It must be a number and d, m or y, such as 90d or 10y.')
const customerId = text(128)

export function addPrivacyCommands(program: Command): void {
  const privacy = program.command('privacy').description('show, export and erase personal data')
  const counting = 'the number of customers with a key, erasures, and events with personal data'
  defineCommand(privacy, 'status', counting, {
    async run({ rawEventStore, customerKeys, allMerchants }) {
      const { PrivacyStatusCount } = await import('../privacy/privacy-status.js')
      const ids = (await allMerchants()).map(({ merchantId }) => merchantId)
      return new PrivacyStatusCount(rawEventStore, customerKeys).status(ids, Number.POSITIVE_INFINITY)
    },
    text({ customers, erasures, keysToDestroy, events }, { notify }) {
      if (keysToDestroy > 0) notify('an erasure is unfinished: run `transferd privacy compact`')
      const rows = Object.entries({
        'customers with a key': customers,
        erasures,
        events: events.total,
        'events with personal data encrypted': events.sealed,
      })
      return table(rows, { WHAT: ([what]) => what, COUNT: { cell: ([, count]) => String(count), align: 'right' } })
    },
  })
  const exporting = 'all data about a customer of a merchant, as JSON, to respond to an access request'
  defineCommand(privacy, 'export <merchantId> <userId>', exporting, {
    async run(stores, _, merchantId: string, userId: string) {
      await findMerchant(stores, merchantId)
      const { exportCustomer } = await import('../privacy/customer-export.js')
      const found = await exportCustomer(await partsOf(stores), { merchantId, userId: customerId(userId) })
      if (!found) throw new Refused('Customer not found.')
      return found
    },
  })
  const erasing = 'erase a customer of a merchant: destroy the key, clear the lists, and compact the files'
  defineCommand(privacy, 'erase <merchantId> <userId>', erasing, {
    options: { reason: required(option('<text>', 'for auditors', reason)) },
    async run(stores, { reason }, merchantId: string, userId: string) {
      await findMerchant(stores, merchantId)
      const { eraseCustomer } = await import('../privacy/customer-erasure.js')
      const customer = { merchantId, userId: customerId(userId) }
      const result = await eraseCustomer(await partsOf(stores), customer, reason, stores.context)
      if (!result.accepted) {
        if (result.reason === 'unknown-customer') throw new Refused('Customer not found.')
        throw new Refused(`This customer has open transfers: ${result.trackingIds.join(', ')}`)
      }
      await clearFiles(stores)
      const { accepted: _, ...erasure } = result
      return erasure
    },
  })
  const retaining = 'erase the customers without a transfer for a period, and compact the files'
  defineCommand(privacy, 'retain', retaining, {
    options: {
      after: required(option('<period>', 'days, months or years: 90d, 18m, 10y', period)),
      merchant: option('<id>', 'only of this merchant', storedUuid),
      reason: option('<text>', 'for auditors (default: the rule)', reason),
      dryRun: flag('print the number of customers and change nothing'),
    },
    async run(stores, { after, merchant: merchantId, dryRun = false, ...given }) {
      if (merchantId !== undefined) await findMerchant(stores, merchantId)
      const { eraseOlder } = await import('../privacy/customer-erasure.js')
      const before = momentBefore(stores.clock(), after)
      const rule = { before, merchantId, dryRun, reason: given.reason ?? `without a transfer for ${after}` }
      const retained = await eraseOlder(await partsOf(stores), rule, stores.context)
      if (retained.erased > 0) await clearFiles(stores)
      return retained
    },
  })
  const givingUp = "erase the log's customers whose keys are missing from the key store: they are permanently lost"
  defineCommand(privacy, 'give-up', givingUp, {
    options: { reason: required(option('<text>', 'for auditors', reason)) },
    async run({ eventStore: raw, rawEventStore, box, customerKeys: keys, clock, context }, { reason }) {
      const { giveUpLostKeys } = await import('../privacy/customer-erasure.js')
      const { markedStore } = await import('../operations/stores/stores.js')
      const { lostKeys } = await import('../privacy/lost-keys.js')
      const lost = lostKeys(markedStore(rawEventStore, box), keys.store)
      return { customers: await giveUpLostKeys({ raw, keys, clock }, lost, reason, context) }
    },
  })
  const compacting = 'finish erasures, and rewrite the key and list files without erased data'
  defineCommand(privacy, 'compact', compacting, {
    async run(stores) {
      const { finishErasures } = await import('../privacy/customer-erasure.js')
      const finished = await finishErasures(await partsOf(stores), stores.context)
      await clearFiles(stores)
      return { finished }
    },
  })
}

async function partsOf(stores: CommandStores): Promise<PrivacyParts> {
  const { eventStore: store, rawEventStore: raw, customerKeys: keys, box, transfers, clock } = stores
  return { store, raw, keys, box, readModels: await stores.readModels(), transfers, clock }
}

async function clearFiles(stores: CommandStores): Promise<void> {
  const { bringListsUpToDate, compactForgotten } = await import('../operations/stores/list-upkeep.js')
  const opened = { ...stores, readModels: await stores.readModels() }
  if (!(await bringListsUpToDate(opened, listsWithinMs)))
    throw new Refused(
      'The customer is erased, but the lists have not caught up. Check `transferd projections status`, then run `transferd privacy compact`.',
    )
  await compactForgotten(stores.configuration, opened)
}

function momentBefore(now: string, after: string): string {
  const [, count = '', unit = ''] = periodForm.exec(after) ?? []
  const time = new Date(now)
  if (unit === 'd') time.setUTCDate(time.getUTCDate() - Number(count))
  else time.setUTCMonth(time.getUTCMonth() - Number(count) * (unit === 'y' ? 12 : 1))
  return time.toISOString()
}
