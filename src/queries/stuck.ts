import type { MerchantSettings } from '../domain/merchant/merchant-events.js'
import type { Status } from '../domain/transfer/status.js'
import type { TransferKind } from '../domain/transfer/transfer-events.js'
import { dayMs, hourMs, minuteMs } from '../kernel/time.js'
import { collections, type TransferDocument } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { firstTransfers, oldestFirst, type Ranges, runsOf } from './transfer-queries.js'

/** The reasons why a transfer is stuck, the next action, and the time that is still acceptable. */
export const stuckReasons = {
  'pending-past-expiry': { next: 'start-expiry', afterMs: minuteMs },
  'manual-control': { next: 'decide', afterMs: 15 * minuteMs },
  'awaiting-approval': { next: 'approve', afterMs: 15 * minuteMs },
  'claims-lapse': { next: 'find-who-pays', afterMs: 0 },
  'in-bank-file': { next: 'check-bank-file', afterMs: dayMs },
  unpaid: { next: 'pay', afterMs: hourMs },
} as const

export type StuckReason = keyof typeof stuckReasons

/** A stuck transfer with the number of its claims and approvals; its delay starts at `since`, in ISO 8601. */
type StuckTransfer = ReturnType<typeof shown>

interface Sources {
  readonly readModels: ReadModels
  readonly merchants: {
    /** Returns the amount above which a withdrawal needs a second approver, in minor units, or `null`. */
    byId(merchantId: string): { readonly settings: Pick<MerchantSettings, 'approvalAboveMinor'> } | undefined
  }
}

const maxListed = 100
/** The limit of pending withdrawals to read, oldest first, because no index contains the reason. */
const maxRead = 500
/** A single lapsed claim can be an accident. */
const lapsingSteps = 2

/**
 * Returns the transfers that wait too long for an action, by ranges of indexes only: reasons in their order, and oldest first within a
 * reason. `more` holds the reasons with possibly more transfers than are listed. @throws ReadModelsUnavailableError
 */
export async function stuckTransfers({ readModels, merchants }: Sources, { now }: { readonly now: string }) {
  const found = new Map<StuckReason, StuckTransfer[]>()
  const more = new Set<StuckReason>()
  const add = (transfer: TransferDocument, reason: StuckReason, since: string) => {
    if (since > earlier(now, stuckReasons[reason].afterMs)) return
    const listed = found.get(reason) ?? []
    found.set(reason, listed)
    if (listed.length < maxListed) listed.push(shown(transfer, reason, since))
    else more.add(reason)
  }
  for (const transfer of await pastExpiry(readModels, now))
    add(transfer, 'pending-past-expiry', transfer.openUntil ?? now)
  for (const transfer of await oldest(readModels, { status: 'ManualControl' }, maxListed + 1))
    add(transfer, 'manual-control', transfer.updatedAt)
  const withdrawals = await oldest(readModels, { status: 'Pending', kind: 'withdrawal' }, maxRead)
  for (const withdrawal of withdrawals) {
    const why = unpaidReason(withdrawal, thresholdOf(merchants, withdrawal), now)
    if (why) add(withdrawal, why.reason, why.since)
  }
  if (withdrawals.length === maxRead) for (const reason of unpaidReasons) more.add(reason)
  const reasons = Object.keys(stuckReasons) as StuckReason[]
  const items = reasons.flatMap((reason) =>
    (found.get(reason) ?? []).sort((a, b) => (a.since < b.since ? -1 : a.since > b.since ? 1 : 0)),
  )
  return { items, more }
}

/**
 * Counts the transfers of these merchants, or of all, that need a person: in manual control, with the creation of the oldest; before an
 * approval, with the same; and in a bank file for too long, because it was not uploaded or not completed. Reads the 500 oldest of each
 * status. @throws ReadModelsUnavailableError
 */
export async function countWaiting(
  { readModels, merchants }: Sources,
  { merchantIds, now }: { readonly merchantIds?: readonly string[] | undefined; readonly now: string },
) {
  const oldestOf = (status: Status, kind: TransferKind) => oldest(readModels, { merchantIds, kind, status }, maxRead)
  const withdrawals = await oldestOf('Pending', 'withdrawal')
  const fileLimit = earlier(now, stuckReasons['in-bank-file'].afterMs)
  return {
    inManualControl: {
      deposit: counted(await oldestOf('ManualControl', 'deposit')),
      withdrawal: counted(await oldestOf('ManualControl', 'withdrawal')),
    },
    awaitingApproval: counted(withdrawals.filter((each) => lacksApproval(each, thresholdOf(merchants, each)))),
    inOldBankFiles: withdrawals.filter((each) => (holdingFile(each)?.at ?? now) <= fileLimit).length,
  }
}

function counted(oldestFirst: readonly TransferDocument[]) {
  return { count: oldestFirst.length, since: oldestFirst[0]?.createdAt ?? null }
}

/** Returns the bank file whose record is the withdrawal's claim. */
function holdingFile({ payout }: TransferDocument) {
  return payout?.claim ? payout.files.at(-1) : undefined
}

const unpaidReasons = [
  'awaiting-approval',
  'claims-lapse',
  'in-bank-file',
  'unpaid',
] as const satisfies readonly StuckReason[]

/** Returns `undefined` while a user is paying the withdrawal. */
function unpaidReason(
  withdrawal: TransferDocument,
  approvalAboveMinor: bigint | null,
  now: string,
): { readonly reason: StuckReason; readonly since: string } | undefined {
  const { payout, createdAt } = withdrawal
  const { claim = null, approval = null } = payout ?? {}
  const file = holdingFile(withdrawal)
  if (file) return { reason: 'in-bank-file', since: file.at }
  if (claim && now < claim.until) return undefined
  if (lacksApproval(withdrawal, approvalAboveMinor)) return { reason: 'awaiting-approval', since: createdAt }
  if (claim && stepsOf(payout) - (approval ? 1 : 0) >= lapsingSteps)
    return { reason: 'claims-lapse', since: claim.until }
  return { reason: 'unpaid', since: createdAt }
}

function lacksApproval({ amountMinor, accountNumber, payout }: TransferDocument, approvalAboveMinor: bigint | null) {
  const { approval = null } = payout ?? {}
  const isApproved = approval?.amountMinor === amountMinor && approval.accountNumber === accountNumber
  return approvalAboveMinor !== null && BigInt(amountMinor) > approvalAboveMinor && !isApproved
}

function stepsOf(payout: TransferDocument['payout']): number {
  return (payout?.steps ?? []).reduce((sum, { count }) => sum + count, 0)
}

async function pastExpiry(readModels: ReadModels, now: string) {
  const before = earlier(now, stuckReasons['pending-past-expiry'].afterMs)
  const options = { sort: { openUntil: 1 }, limit: maxListed + 1 } as const
  const found = await readModels.collection(collections.transfers).find({ openUntil: { $lte: before } }, options)
  return found as readonly TransferDocument[]
}

function oldest(readModels: ReadModels, ranges: Ranges, limit: number) {
  return firstTransfers(readModels, oldestFirst, runsOf(ranges), limit)
}

function thresholdOf(merchants: Sources['merchants'], { merchantId }: TransferDocument): bigint | null {
  return merchants.byId(merchantId)?.settings.approvalAboveMinor ?? null
}

function earlier(at: string, ms: number): string {
  return new Date(Date.parse(at) - ms).toISOString()
}

function shown(
  { _id: trackingId, merchantId, referenceId, kind, status, amountMinor, payout }: TransferDocument,
  reason: StuckReason,
  since: string,
) {
  const transfer = { trackingId, merchantId, referenceId, kind, status, amountMinor, steps: stepsOf(payout) }
  return { ...transfer, reason, next: stuckReasons[reason].next, since }
}
