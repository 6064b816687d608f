/** The prefixes of the names of the service's streams: everything up to the first hyphen. */
export const streamPrefix = {
  transfer: 'transfer-',
  merchant: 'merchant-',
  payouts: 'payouts-',
  bankEntries: 'bankentries-',
  bankAccount: 'bankaccount-',
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
  installation: 'installation-',
  audit: 'audit-',
  evidence: 'evidence-',
} as const

export type StreamPrefix = (typeof streamPrefix)[keyof typeof streamPrefix]
export const streamPrefixes: readonly StreamPrefix[] = Object.values(streamPrefix)

/** The prefixes of streams that only the service writes. A copy keeps its progress in `$transferd-…`, which is not copied itself. */
export const servicePrefixes = [...streamPrefixes, '$transferd-'] as const

export function isServiceStream(stream: string): boolean {
  return servicePrefixes.some((prefix) => stream.startsWith(prefix))
}

const kinds: ReadonlyMap<string, StreamPrefix> = new Map(streamPrefixes.map((prefix) => [prefix, prefix]))

/** Returns the prefix of a stream of the service, or `undefined` for any other stream. */
export function streamKind(stream: string): StreamPrefix | undefined {
  return kinds.get(stream.slice(0, stream.indexOf('-') + 1))
}

export const transferStream = (trackingId: string) => `${streamPrefix.transfer}${trackingId}`
export const merchantStream = (merchantId: string) => `${streamPrefix.merchant}${merchantId}`
/** The payouts that a merchant's limits count. */
export const payoutsStream = (merchantId: string) => `${streamPrefix.payouts}${merchantId}`
/** The entries of a bank account with one day, direction and amount ({@link bank/bank-entries.ts}). */
export const bankEntriesStream = (id: string) => `${streamPrefix.bankEntries}${id}`
export const bankAccountStream = (accountId: string) => `${streamPrefix.bankAccount}${accountId}`
export const callbackStream = (trackingId: string) => `${streamPrefix.callback}${trackingId}`
export const endpointStream = (merchantId: string) => `${streamPrefix.callbacks}endpoint-${merchantId}`
export const callbackSweepStream = `${streamPrefix.callbacks}sweep`
export const paymentStream = (trackingId: string) => `${streamPrefix.payment}${trackingId}`
/** Wrong codes for one wallet account, named by a keyed digest of its number. */
export const walletCodesStream = (accountMac: string) => `${streamPrefix.walletCodes}${accountMac}`
/** Wrong passwords for one wallet account, named by a keyed digest of its email. */
export const walletLogInsStream = (emailMac: string) => `${streamPrefix.walletLogIns}${emailMac}`
/** The repeat of a request that reserved another text for its transfer. */
export const hashStream = (id: string) => `${streamPrefix.hash}${id}`
export const walletAccountStream = (accountNumber: number) => `${streamPrefix.wallet}${accountNumber}`
/** The account that an email belongs to, named by a keyed digest of the email. */
export const walletEmailStream = (emailMac: string) => `${streamPrefix.walletEmail}${emailMac}`
export const userStream = (userId: string) => `${streamPrefix.user}${userId}`
/** The user that an email belongs to, named by a keyed digest of the email. */
export const userEmailStream = (emailMac: string) => `${streamPrefix.userEmail}${emailMac}`
/** Wrong passwords for one user, named by a keyed digest of the email. */
export const userSignInsStream = (emailMac: string) => `${streamPrefix.userSignIns}${emailMac}`
export const skippedEventsStream = `${streamPrefix.problems}skipped`
/** The key of the keyed digests, sealed by the master key. */
export const digestKeyStream = `${streamPrefix.masterKeys}digests`
/** Findings that do not verify, and the decisions to resume payouts. */
export const integrityStream = `${streamPrefix.integrity}log`
/** The starts of the tree over the log, and its checkpoints. */
export const auditTreeStream = `${streamPrefix.audit}tree`
/** The evidence packages of a transfer, and the decisions about their personal data. */
export const evidenceStream = (trackingId: string) => `${streamPrefix.evidence}${trackingId}`
/** The erasure of a customer, named only by the id of the customer's key. */
export const privacyStream = (erasureId: string) => `${streamPrefix.privacy}${erasureId}`
export const listedStreamsStream = `${streamPrefix.directory}streams`
/** The currency of the log's transfers. */
export const currencyStream = `${streamPrefix.installation}currency`
/** The owner of a reserved key on EventStoreDB. */
export const reservedKeyStream = (keyDigest: string) => `$transferd-reserved-${keyDigest}`
export const copiedStream = '$transferd-copy'
export const verifiedStream = '$transferd-copy-verified'
