import type { EventType } from './event-schemas.js'

/** Where it is recorded which events are passed over. */
export const passedOverStream = 'problems-passed-over'

/** How the names of the streams begin that each event belongs into. */
const prefixes = {
  DepositCreated: 'transfer-',
  WithdrawalCreated: 'transfer-',
  TransferCompleted: 'transfer-',
  TransferSentToManualControl: 'transfer-',
  TransferCancelled: 'transfer-',
  TransferFailed: 'transfer-',
  LateFundsReceived: 'transfer-',
  TransferReopened: 'transfer-',
  FundsReturned: 'transfer-',
  AttentionResolved: 'transfer-',
  MerchantRegistered: 'merchant-',
  MerchantSettingsChanged: 'merchant-',
  ApiKeyRotated: 'merchant-',
  ApiKeyCreated: 'merchant-',
  ApiKeyRevoked: 'merchant-',
  SecretKeyRotated: 'merchant-',
  SecretKeyTakenUp: 'merchant-',
  WebhookSecretRotated: 'merchant-',
  MerchantSuspended: 'merchant-',
  MerchantResumed: 'merchant-',
  CallbackEndpointDisabled: 'merchant-',
  CallbackEndpointEnabled: 'merchant-',
  CallbackRecorded: 'callback-',
  CallbackDelivered: 'callback-',
  CallbackAttemptFailed: 'callback-',
  CallbackParked: 'callback-',
  CallbackRequeued: 'callback-',
  CallbackSweepAdvanced: 'callbacks-',
  CallbackEndpointFailing: 'callbacks-',
  CallbackEndpointRecovered: 'callbacks-',
  WalletLoggedIn: 'payment-',
  WalletCodeAttempted: 'payment-',
  WalletCodeVerified: 'payment-',
  WalletDeviceQuestioned: 'payment-',
  WalletDeviceConfirmed: 'payment-',
  WalletCollectionStarted: 'payment-',
  WalletCollectionEnded: 'payment-',
  WalletCodeRefused: 'walletcodes-',
  WalletLogInFailed: 'walletlogins-',
  WalletLogInDeviceKnown: 'walletlogins-',
  HashCodeSeen: 'hash-',
  WalletAccountOpened: 'wallet-',
  WalletAccountCredited: 'wallet-',
  WalletAccountDebited: 'wallet-',
  WalletDebitRefused: 'wallet-',
  WalletDeviceTrusted: 'wallet-',
  WalletEmailReserved: 'walletemail-',
  EventPassedOver: 'problems-',
} as const satisfies { readonly [type in EventType]: string }

const prefixOfType = new Map<string, string>(Object.entries(prefixes))
const known = new Set<string>(Object.values(prefixes))

/** The beginnings of the names of all streams that are the service's. */
export const streamPrefixes: readonly string[] = [...known]

/** How a stream's name begins, if it is one of the service's. */
export function streamKind(stream: string): string | undefined {
  const prefix = stream.slice(0, stream.indexOf('-') + 1)
  return known.has(prefix) ? prefix : undefined
}

/** Whether an event of this type may stand in this stream. Anything may in one that is none of the service's. */
export function belongs(type: string, stream: string): boolean {
  const [kind, prefix] = [streamKind(stream), prefixOfType.get(type)]
  return kind === undefined || prefix === undefined || prefix === kind
}
