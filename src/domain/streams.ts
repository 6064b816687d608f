/** How the names of the streams begin that hold the service's events; everything up to the first hyphen. */
export const streamPrefix = {
  transfer: 'transfer-',
  merchant: 'merchant-',
  callback: 'callback-',
  callbacks: 'callbacks-',
  payment: 'payment-',
  walletCodes: 'walletcodes-',
  walletLogIns: 'walletlogins-',
  hash: 'hash-',
  wallet: 'wallet-',
  walletEmail: 'walletemail-',
  problems: 'problems-',
} as const

export type StreamPrefix = (typeof streamPrefix)[keyof typeof streamPrefix]

export const streamPrefixes: readonly StreamPrefix[] = Object.values(streamPrefix)

/**
 * Whoever may write to a stream that begins so moves money or changes a merchant's keys, so only the service does. `user-` is kept
 * for people who sign in. A copy keeps its progress in `$transferd-`: system streams are no part of the log and are not copied on.
 */
export const servicePrefixes = [...streamPrefixes, 'user-', '$transferd-'] as const

export function isServiceStream(stream: string): boolean {
  return servicePrefixes.some((prefix) => stream.startsWith(prefix))
}

const kinds: ReadonlyMap<string, StreamPrefix> = new Map(streamPrefixes.map((prefix) => [prefix, prefix]))

/** How a stream's name begins, if it is one of the service's. */
export function streamKind(stream: string): StreamPrefix | undefined {
  return kinds.get(stream.slice(0, stream.indexOf('-') + 1))
}

export const transferStream = (trackingId: string) => `${streamPrefix.transfer}${trackingId}`
export const merchantStream = (merchantId: string) => `${streamPrefix.merchant}${merchantId}`
export const callbackStream = (trackingId: string) => `${streamPrefix.callback}${trackingId}`
/** What was observed of a merchant's callback endpoint. */
export const endpointStream = (merchantId: string) => `${streamPrefix.callbacks}endpoint-${merchantId}`
/** Up to where in the log every callback is recorded. */
export const callbackSweepStream = `${streamPrefix.callbacks}sweep`
/** How a customer pays one deposit from a wallet account. */
export const paymentStream = (trackingId: string) => `${streamPrefix.payment}${trackingId}`
/** Wrong codes for one wallet account. */
export const walletCodesStream = (accountNumber: number) => `${streamPrefix.walletCodes}${accountNumber}`
/** Wrong passwords for one wallet account, which is named by a keyed digest of the e-mail it is asked for by. */
export const walletLogInsStream = (emailMac: string) => `${streamPrefix.walletLogIns}${emailMac}`
/** Which request claimed a text that hashes are made of. */
export const hashStream = (id: string) => `${streamPrefix.hash}${id}`
/** An account of the built-in wallet. */
export const walletAccountStream = (accountNumber: number) => `${streamPrefix.wallet}${accountNumber}`
/** Which account an e-mail belongs to; the e-mail appears as a keyed digest. */
export const walletEmailStream = (emailMac: string) => `${streamPrefix.walletEmail}${emailMac}`
/** Which events are skipped because a person decided so. */
export const passedOverStream = `${streamPrefix.problems}passed-over`
export const copiedStream = '$transferd-copy'
export const verifiedStream = '$transferd-copy-verified'
