import type { JsonObject } from './event-store.js'
import type { Upcaster } from './event-versions.js'

const settingsNewInV2 = { returnUrl: null, frameAncestors: [], manualControlAboveMinor: null }

const untold: Upcaster = (data) => ({ ...data, told: false })

function signatureV3(settings: JsonObject): JsonObject {
  if (settings.requireSignature === undefined) return settings
  return { ...settings, requireSignature: settings.requireSignature ? 'all' : 'none' }
}

/** `eventUpcasters[type][n]` leads from version n + 1 to the next; a type that is not here has one version. */
export const eventUpcasters: { readonly [type: string]: readonly Upcaster[] } = {
  // Whether the merchant wanted to hear of it then is not known. To tell it now could be to say Pending after a later status.
  // What named the hashCode was a claim, in a stream of its own.
  DepositCreated: [untold, (data) => ({ ...data, hashId: null })],
  WithdrawalCreated: [untold, (data) => ({ ...data, hashId: null })],
  TransferCompleted: [(data) => ({ ...data, reason: null })],
  // Only an automatic cancellation had a mismatch, and only then was the amount another than 0.
  TransferCancelled: [
    (data) => ({
      ...data,
      receiptUrl: null,
      autoCancelledAmountMinor: data.hasAmountMismatch ? (data.transactionAmountMinor ?? null) : null,
    }),
    // Until then the message alone said that its time was over.
    (data) => {
      const other = data.autoCancelledAmountMinor === null ? 'requested' : 'amount-mismatch'
      return { ...data, reason: data.message === 'expired' ? 'expired' : other }
    },
  ],
  // Two reasons were ever recorded, in a field that took any text.
  WalletCollectionEnded: [
    (data) => ({
      ...data,
      reason: data.reason === null || data.reason === 'account-blocked' ? data.reason : 'insufficient-balance',
    }),
  ],
  // The tolerance of that time is not known, so it counts as none.
  LateFundsReceived: [(data) => ({ ...data, hasAmountMismatch: data.receivedAmountMinor !== data.amountMinor })],
  // Version 2 came with the payment page's way back, the origins that may frame it, and amounts that a person looks at.
  // Version 3 with instructions for manual payment methods and signatures for withdrawals only.
  // Version 4 with the amount above which a withdrawal needs a second person.
  MerchantRegistered: [
    (data) => ({ ...data, settings: { ...(data.settings as JsonObject), ...settingsNewInV2 } }),
    (data) => {
      const settings = { ...signatureV3(data.settings as JsonObject), paymentInstructions: [] }
      return { ...data, settings }
    },
    (data) => ({ ...data, settings: { ...(data.settings as JsonObject), approvalAboveMinor: null } }),
  ],
  // The same settings as changes: those that were not there did not change.
  MerchantSettingsChanged: [
    (data) => data,
    (data) => ({ ...data, changes: signatureV3(data.changes as JsonObject) }),
    (data) => data,
  ],
  // The scope settlement, which no key of before has.
  ApiKeyCreated: [(data) => data],
  // None that it ended becomes valid again, and a receiver that has changed is not told with the old one again.
  SecretKeyRotated: [(data) => ({ ...data, gradual: false })],
  // Which engine's position it was is not known, so it is none: everything is looked at once more.
  CallbackSweepAdvanced: [({ at }) => ({ event: null, at })],
}
