import type { JsonObject } from './event-store.js'
import type { Upcaster } from './event-versions.js'

const settingsNewInV2 = { returnUrl: null, frameAncestors: [], manualControlAboveMinor: null }

const untold: Upcaster = (data) => ({ ...data, told: false })

/** `eventUpcasters[type][n]` leads from version n + 1 to the next; a type that is not here has one version. */
export const eventUpcasters: { readonly [type: string]: readonly Upcaster[] } = {
  // Whether the merchant wanted to hear of it then is not known. To tell it now could be to say Pending after a later status.
  DepositCreated: [untold],
  WithdrawalCreated: [untold],
  // Version 2 came with the payment page's way back, the origins that may frame it, and amounts that a person looks at.
  MerchantRegistered: [(data) => ({ ...data, settings: { ...(data.settings as JsonObject), ...settingsNewInV2 } })],
  // The same settings as changes: those that were not there did not change.
  MerchantSettingsChanged: [(data) => data],
  // Which engine's position it was is not known, so it is none: everything is looked at once more.
  CallbackSweepAdvanced: [({ at }) => ({ event: null, at })],
}
