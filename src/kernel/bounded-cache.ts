import { LRUCache } from 'lru-cache'
import { estimatedBytes } from './memory-size.js'

/**
 * Creates a cache of small values, such as ids and keys, that drops the least recently used entry. LRUCache's own `max` would allocate the
 * memory for all entries in advance.
 */
export function boundedCache<Value extends object | true>(maxEntries: number): LRUCache<string, Value> {
  return new LRUCache<string, Value>({ maxSize: maxEntries, sizeCalculation: () => 1 })
}

/** The memory of an entry in addition to its value: a place in each of the cache's lists, and the key. */
const entryBytes = 128

/**
 * Creates a cache of values whose size depends on requests, such as a transfer with its metadata, that drops the least recently used
 * entries. A value that is changed in place must be deleted and set again, because its size is estimated only when it is set.
 */
export function sizedCache<Value extends object>(
  maxBytes: number,
  bytesOf: (value: Value) => number = estimatedBytes,
): LRUCache<string, Value> {
  return new LRUCache<string, Value>({
    maxSize: maxBytes,
    sizeCalculation: (value, key) => entryBytes + 2 * key.length + bytesOf(value),
  })
}
