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
  user: 'user-',
  userEmail: 'useremail-',
  userSignIns: 'usersignins-',
  problems: 'problems-',
  masterKeys: 'masterkeys-',
  integrity: 'integrity-',
  privacy: 'privacy-',
  directory: 'directory-',
} as const

export type StreamPrefix = (typeof streamPrefix)[keyof typeof streamPrefix]

export const streamPrefixes: readonly StreamPrefix[] = Object.values(streamPrefix)

/**
 * Whoever may write to a stream that begins so moves money, changes a merchant's keys or signs in, so only the service does. A copy keeps its progress in `$transferd-`: system streams are no part of the log and are not copied on.
 */
export const servicePrefixes = [...streamPrefixes, '$transferd-'] as const

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
/** Wrong codes for one wallet account, which is named by a keyed digest of its number. */
export const walletCodesStream = (accountMac: string) => `${streamPrefix.walletCodes}${accountMac}`
/** Wrong passwords for one wallet account, which is named by a keyed digest of the e-mail it is asked for by. */
export const walletLogInsStream = (emailMac: string) => `${streamPrefix.walletLogIns}${emailMac}`
/** Which request claimed a text that hashes are made of. */
export const hashStream = (id: string) => `${streamPrefix.hash}${id}`
/** An account of the built-in wallet. */
export const walletAccountStream = (accountNumber: number) => `${streamPrefix.wallet}${accountNumber}`
/** Which account an e-mail belongs to; the e-mail appears as a keyed digest. */
export const walletEmailStream = (emailMac: string) => `${streamPrefix.walletEmail}${emailMac}`
/** Somebody who signs in to the dashboard. */
export const userStream = (userId: string) => `${streamPrefix.user}${userId}`
/** Which user an e-mail belongs to; the e-mail appears as a keyed digest. */
export const userEmailStream = (emailMac: string) => `${streamPrefix.userEmail}${emailMac}`
/** Wrong passwords for one user, who is named by a keyed digest of the e-mail. */
export const userSignInsStream = (emailMac: string) => `${streamPrefix.userSignIns}${emailMac}`
/** Which events are skipped because a person decided so. */
export const skippedEventsStream = `${streamPrefix.problems}skipped`
/** What keyed digests are made with, sealed by the master key. */
export const digestKeyStream = `${streamPrefix.masterKeys}digests`
/** What did not verify, and who had payouts go on. */
export const integrityStream = `${streamPrefix.integrity}log`
/** That a customer was erased, who is named by nothing but the id that their key had. */
export const privacyStream = (erasureId: string) => `${streamPrefix.privacy}${erasureId}`
/** The names of the streams that a start has to know all of. */
export const listedStreamsStream = `${streamPrefix.directory}streams`
export const copiedStream = '$transferd-copy'
export const verifiedStream = '$transferd-copy-verified'
