import type { Command } from 'commander'
import { violate } from '../domain/decider.js'
import { storedUuid } from '../kernel/uuid.js'
import type { PrivacyParts } from '../privacy/customer-erasure.js'
import type { CommandStores } from './cli-stores.js'
import { defineCommand, findMerchant } from './command.js'
import { Refused, refusedBy } from './failures.js'
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
    examples: ['', '--json'],
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
    examples: ['f5ebe0d2 customer-42', 'f5ebe0d2 customer-42 --json > customer-42.json'],
    async run(stores, _, merchantId: string, userId: string) {
      await findMerchant(stores, merchantId)
      const { exportCustomer } = await import('../privacy/customer-export.js')
      const found = await exportCustomer(await partsOf(stores), { merchantId, userId: customerId(userId) })
      if (!found) throw new Refused('unknown-customer', 'Customer not found.')
      return found
    },
  })
  const erasing = 'erase a customer of a merchant: destroy the key, clear the lists, and compact the files'
  defineCommand(privacy, 'erase <merchantId> <userId>', erasing, {
    examples: [
      'f5ebe0d2 customer-42 --reason "request of 21 November"',
      'f5ebe0d2 customer-42 --reason "request of 21 November" --yes',
    ],
    options: { reason: required(option('<text>', 'for auditors', reason)) },
    confirmation: {
      async question(stores, _, merchantId: string, userId: string) {
        const { settings } = await findMerchant(stores, merchantId)
        return {
          effect: `All personal data of the customer ${userId} of ${settings.name} is destroyed. It cannot be restored.`,
          word: userId,
        }
      },
    },
    async run(stores, { reason }, merchantId: string, userId: string) {
      await findMerchant(stores, merchantId)
      const { eraseCustomer } = await import('../privacy/customer-erasure.js')
      const customer = { merchantId, userId: customerId(userId) }
      const result = await eraseCustomer(await partsOf(stores), customer, reason, stores.context)
      if (!result.accepted) {
        if (result.reason === 'unknown-customer') throw new Refused('unknown-customer', 'Customer not found.')
        throw new Refused('transfers-open', `This customer has open transfers: ${result.trackingIds.join(', ')}`, {
          trackingIds: result.trackingIds.join(', '),
        })
      }
      await clearFiles(stores)
      const { accepted: _, ...erasure } = result
      return erasure
    },
  })
  defineCommand(privacy, 'erase-counterparty <paymentId>', 'erase the other party of a payment of a bank statement', {
    examples: [
      'DE89370400440532013000-2026-11-27-c-5000-1.1 --reason "request of the person, ticket 204"',
      'DE89370400440532013000-2026-11-27-d-9500-1 --reason "request" --yes --json',
    ],
    args: { paymentId: { description: 'one payment of the person; all others are found' } },
    options: { reason: required(option('<text>', 'for auditors', reason)) },
    confirmation: {
      question: (_, __, paymentId: string) => ({
        effect: `The name, the account and the texts of this person are destroyed in ${paymentId} and all other payments.`,
        word: 'erase',
      }),
    },
    async run(stores, { reason }, paymentId: string) {
      const { eraseCounterparty } = await import('../privacy/customer-erasure.js')
      const found = await stores.bank.payment(paymentId)
      if (!found) throw refusedBy(violate('bank-payment-unknown'))
      const { personId } = found.payment
      const payments = await eraseCounterparty(await partsOf(stores), personId, reason, stores.context)
      await clearFiles(stores)
      return { personId, payments: payments ?? 0 }
    },
  })
  const retaining = 'erase the customers without a transfer for a period, and compact the files'
  defineCommand(privacy, 'retain', retaining, {
    examples: ['--after 10y --dry-run', '--after 18m --merchant f5ebe0d2 --yes'],
    options: {
      after: required(option('<period>', 'days, months or years: 90d, 18m, 10y', period)),
      merchant: option('<id>', 'only of this merchant', storedUuid),
      reason: option('<text>', 'for auditors (default: the rule)', reason),
      dryRun: flag('print the number of customers and change nothing'),
    },
    confirmation: {
      when: ({ dryRun }) => !dryRun,
      question: (_, { after }) => ({
        effect: `All personal data of the customers without a transfer for ${after} is destroyed. It cannot be restored. \`--dry-run\` counts them.`,
        word: after,
      }),
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
    examples: [
      '--reason "disk and its backup lost, ticket 204"',
      '--reason "disk and its backup lost, ticket 204" --yes',
    ],
    options: { reason: required(option('<text>', 'for auditors', reason)) },
    confirmation: {
      question: () => ({
        effect: 'The customers whose keys are missing count as erased, even if their keys are found later.',
        word: 'give up',
      }),
    },
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
    examples: ['', '--json'],
    async run(stores) {
      const { finishErasures } = await import('../privacy/customer-erasure.js')
      const finished = await finishErasures(await partsOf(stores), stores.context)
      await clearFiles(stores)
      return { finished }
    },
  })
}

async function partsOf(stores: CommandStores): Promise<PrivacyParts> {
  const { eventStore: store, rawEventStore: raw, customerKeys: keys, box, transfers, bank, clock } = stores
  return { store, raw, keys, box, readModels: await stores.readModels(), transfers, bank, clock }
}

async function clearFiles(stores: CommandStores): Promise<void> {
  const { refreshLists, compactForgotten } = await import('../operations/stores/list-upkeep.js')
  const opened = { ...stores, readModels: await stores.readModels() }
  if (!(await refreshLists(opened, listsWithinMs)))
    throw new Refused(
      'lists-behind',
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
