/** A customer's key as stored. */
export interface KeptKey {
  readonly id: string
  readonly merchantId: string
  /** A keyed digest of the merchant and the merchant's userId, by which the key is found. */
  readonly owner: string
  /** The key and its customer, encrypted with the master key. */
  readonly sealed: string
}

/** Stores the customers' keys outside the log, so that they can be deleted. Every method may throw StoreUnavailableError. */
export interface KeyStore {
  /** Stores each key unless its owner has one, and returns the stored keys of the owners. Durable when it resolves. */
  ensure(keys: readonly KeptKey[]): Promise<readonly KeptKey[]>
  byIds(ids: readonly string[]): Promise<readonly KeptKey[]>
  byOwner(owner: string): Promise<KeptKey | undefined>
  /** Returns a page of all keys after this id, in the order of their ids. */
  after(id: string, limit: number): Promise<readonly KeptKey[]>
  /** Returns the number of keys of each merchant, without merchants that have none. */
  counts(merchantIds: readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Replaces the existing keys with these ids. Durable when it resolves. */
  replace(keys: readonly KeptKey[]): Promise<void>
  /** Durable when it resolves. */
  destroy(ids: readonly string[]): Promise<void>
  /** Removes what remains of destroyed keys in the files. */
  compact(): Promise<void>
  close(): Promise<void>
}
