/** A customer's key as it is kept. */
export interface KeptKey {
  readonly id: string
  readonly merchantId: string
  /** Keyed digest of the merchant and the merchant's userId: what the key is found by. */
  readonly owner: string
  /** The key, and whose it is, sealed by the master key. */
  readonly sealed: string
}

/**
 * Where the keys of customers are: beside the log, and unlike it able to forget. Every method may throw StoreUnavailableError.
 */
export interface KeyStore {
  /** Keeps each unless its owner has one; answers with what is kept for the owners. Durable when it resolves. */
  ensure(keys: readonly KeptKey[]): Promise<readonly KeptKey[]>
  byIds(ids: readonly string[]): Promise<readonly KeptKey[]>
  byOwner(owner: string): Promise<KeptKey | undefined>
  /** All in the order of their ids, a page at a time, behind one. */
  after(id: string, limit: number): Promise<readonly KeptKey[]>
  /** How many each of these merchants has; those without are left out. */
  counts(merchantIds: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Those that are there, by id. Durable when it resolves. */
  replace(keys: readonly KeptKey[]): Promise<void>
  /** Durable when it resolves. */
  destroy(ids: readonly string[]): Promise<void>
  /** Leaves nothing in the files of what was destroyed. */
  compact(): Promise<void>
  close(): Promise<void>
}
