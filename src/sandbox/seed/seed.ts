import type { Logger } from 'pino'
import { mayTriggerCallback } from '../../callbacks/callback-trigger.js'
import { CallbackRecorder } from '../../callbacks/record/callback-recorder.js'
import { CallbackCommands } from '../../commands/callback/callback-commands.js'
import type { CommandContext } from '../../commands/handle-command.js'
import { trackingIdOf } from '../../commands/ids.js'
import { MerchantCommands } from '../../commands/merchant/merchant-commands.js'
import { PayoutCounts } from '../../commands/transfer/payout-counts.js'
import type { TransferResult } from '../../commands/transfer/transfer-requests.js'
import { defaultRules, TransferCommands } from '../../commands/transfer/transfers.js'
import type { AttemptOutcome } from '../../domain/callback.js'
import type { MerchantSettings } from '../../domain/merchant/merchant-events.js'
import { defaultSettings } from '../../domain/merchant/merchant-settings.js'
import { streamPrefix, transferStream } from '../../domain/streams.js'
import { type EventStore, firstEventIn } from '../../event-store/event-store.js'
import { addMs, type Clock, minuteMs } from '../../kernel/time.js'
import type { SecretBox } from '../../security/secret-box.js'
import { sandboxActor } from '../sandbox.js'
import { type Frame, type Happening, hourLong, type PlannedTransfer, planOfAnHour } from './plan.js'

interface SeedParts {
  readonly store: EventStore
  readonly box: SecretBox
  readonly clock: Clock
  readonly frame: Pick<Frame, 'currency' | 'paymentMethods'>
  /** Returns false once a live merchant may exist or the service stops. Seeding then ends. */
  readonly shouldContinue: () => boolean
  /** Called after the merchants are registered and before their first transfer. */
  readonly onRegistered?: () => Promise<void>
}

/** A constant, so that every sandbox gets the same hour. */
const seedNumber = 20_261
/** The number of transfers written concurrently, so that they share commits. */
const atOnce = 24
/** The number of parked callbacks of the second merchant, whose endpoint appears to fail. */
const parkedOf = 12
const noReceiver = 'sample merchant without a receiver'
const context: CommandContext = { actor: 'system:seed', $correlationId: 'seed', $causationId: 'seed' }
/** The sandbox's actor, so that these merchants are suspended when the sandbox ends. */
const registering: CommandContext = { ...context, actor: sandboxActor }
const names = ['Sample Shop', 'Sample Games'] as const

export const seedNotice = `two sample merchants (${names.join(', ')}) have an hour of sample transfers`

/** Returns whether the log has no transfers yet. @throws StoreUnavailableError */
export async function isWithoutTransfers(store: EventStore): Promise<boolean> {
  return (await firstEventIn(store, { streamPrefixes: [streamPrefix.transfer] })) === undefined
}

/**
 * Registers two merchants and fills the sandbox with an hour of their sample transfers, using the same commands as real transfers.
 * Disables their callbacks before the first transfer, so no callback is sent. Returns the number of transfers created.
 * @throws StoreUnavailableError
 */
export async function seed({ store, box, clock, frame, shouldContinue, onRegistered }: SeedParts): Promise<number> {
  const end = clock()
  const merchants = new MerchantCommands(store, () => addMs(end, -hourLong), box)
  const settings = names.map(settingsOf)
  const ids: string[] = []
  for (const each of settings) {
    const { id } = await merchants.register(each, registering)
    await merchants.execute(id, { type: 'DisableCallbacks', reason: noReceiver }, context)
    ids.push(id)
  }
  await onRegistered?.()
  const plan = planOfAnHour(seedNumber, { ...defaultSettings(true), ...frame })
  const seeding = new Seeding(
    store,
    new Map(ids.map((id, n) => [id, settings[n]!])),
    end,
    new PayoutCounts(store, box.mac),
  )
  const steps = plan.flatMap((transfer, n) => {
    const merchantId = ids[transfer.merchant]!
    return [undefined, ...transfer.steps].map((step) => {
      return { n, transfer, merchantId, step, agoMs: step?.agoMs ?? transfer.agoMs }
    })
  })
  // Minute by minute, so that the order of the log is plausible.
  for (let minute = hourLong; minute > 0 && shouldContinue(); minute -= minuteMs) {
    const due = steps.filter(({ agoMs }) => agoMs <= minute && agoMs > minute - minuteMs)
    const byTransfer = new Map<number, typeof due>()
    for (const each of due) byTransfer.set(each.n, [...(byTransfer.get(each.n) ?? []), each])
    await inLots([...byTransfer.values()], async (ofOne) => {
      for (const { transfer, merchantId, step, agoMs } of ofOne) {
        const at = addMs(end, -agoMs)
        if (step) await seeding.advance(transfer, merchantId, step.does, at)
        else await seeding.create(transfer, merchantId, at)
      }
    })
  }
  return seeding.created
}

/** Seeds while the service already accepts requests. `stop` resolves after the last write. */
export function startSeeding(parts: SeedParts, logger: Logger): { stop(): Promise<void> } {
  let isStopping = false
  const shouldContinue = () => !isStopping && parts.shouldContinue()
  const seeding = seed({ ...parts, shouldContinue }).then(
    (transfers) => logger.info({ transfers }, 'the sandbox has an hour of sample transfers'),
    (err) => logger.warn({ err }, 'the sandbox has no sample transfers, or not all of them'),
  )
  return {
    async stop() {
      isStopping = true
      await seeding
    },
  }
}

/** The second merchant's approval limit. Larger withdrawals wait for an approver. */
const approvalAboveMinor = 2_000_00n

function settingsOf(name: string, n: number): MerchantSettings {
  return {
    ...defaultSettings(true),
    name,
    approvalAboveMinor: n === 1 ? approvalAboveMinor : null,
    callbackUrl: 'https://callbacks.invalid/',
    // No address may call the API as these merchants.
    allowIps: [],
  }
}

class Seeding {
  created = 0
  #parked = 0

  constructor(
    private readonly store: EventStore,
    private readonly settings: ReadonlyMap<string, MerchantSettings>,
    private readonly end: string,
    private readonly payouts: PayoutCounts,
  ) {}

  async create(planned: PlannedTransfer, merchantId: string, at: string): Promise<void> {
    const { kind, referenceId, customer, amountMinor, paymentMethod, channel } = planned
    const { accountNumber, ...whose } = customer
    const request = { merchantId, referenceId, amountMinor, paymentMethod, ...whose, callbackOnCreate: false }
    const transfers = this.#transfers(at)
    const { depositExpiryMinutes: expiryMinutes } = this.settings.get(merchantId)!
    const result =
      kind === 'deposit'
        ? await transfers.create({ ...request, channel, expiryMinutes }, context)
        : await transfers.create({ ...request, accountNumber, identityNumber: null }, context)
    if (result.accepted) this.created++
  }

  async advance(planned: PlannedTransfer, merchantId: string, does: Happening, at: string): Promise<void> {
    const trackingId = trackingIdOf(merchantId, planned.kind, planned.referenceId)
    const result = await this.#change(this.#transfers(at), trackingId, planned, does)
    if (result.accepted && result.changed) await this.#recordCallback(trackingId, planned.merchant, at)
  }

  #change(transfers: TransferCommands, trackingId: string, planned: PlannedTransfer, does: Happening) {
    switch (does.type) {
      case 'receive':
        return transfers.receiveFunds(
          trackingId,
          1,
          { receivedAmountMinor: does.amountMinor, receiptUrl: null },
          context,
        )
      case 'complete': {
        const receiptUrl = `https://bank.invalid/receipts/${planned.referenceId}`
        return transfers.act(trackingId, { type: 'Complete', receiptUrl }, context)
      }
      case 'expire':
        return transfers.expire(trackingId, context)
      case 'SendToManualControl':
      case 'Cancel':
      case 'Fail':
        return transfers.act(trackingId, does, context)
      default:
        return does satisfies never as Promise<TransferResult>
    }
  }

  /** Records a callback attempt without sending it. The first merchant's endpoint accepts all; the second's has started to fail. */
  async #recordCallback(trackingId: string, merchant: PlannedTransfer['merchant'], at: string): Promise<void> {
    const [changed] = await this.store.readStream(transferStream(trackingId), { direction: 'backwards', maxCount: 1 })
    const callbacks = new CallbackCommands(this.store, () => at)
    if (!changed || !mayTriggerCallback(changed)) return
    await new CallbackRecorder(this.store, callbacks).recordUpTo(changed)
    const isInTrouble = merchant === 1 && at > addMs(this.end, -20 * minuteMs)
    const reason = 'http 503'
    let outcome: AttemptOutcome = { result: 'delivered' }
    if (isInTrouble && this.#parked++ < parkedOf) outcome = { result: 'parked', reason }
    else if (isInTrouble) outcome = { result: 'failed', reason, nextAttemptAt: addMs(at, 5 * minuteMs) }
    const attempted = { attempt: 1, httpStatus: isInTrouble ? 503 : 200, durationMs: 40 + (changed.revision % 7) * 30 }
    await callbacks.reportAttempt(trackingId, changed.id, { ...attempted, outcome }, context)
  }

  #transfers(at: string): TransferCommands {
    const settingsOf = async (merchantId: string) => this.settings.get(merchantId)
    const rules = { ...defaultRules, paymentMethods: [] }
    return new TransferCommands(this.store, () => at, settingsOf, rules, this.payouts)
  }
}

async function inLots<Item>(items: readonly Item[], act: (item: Item) => Promise<void>): Promise<void> {
  for (let from = 0; from < items.length; from += atOnce) await Promise.all(items.slice(from, from + atOnce).map(act))
}
