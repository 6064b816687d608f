import { LRUCache } from 'lru-cache'

/**
 * Creates a cache of at most `maxEntries`, which drops the least recently used entry. It limits the size, because LRUCache's own `max`
 * allocates the memory for all entries in advance.
 */
export function boundedCache<Value extends object | true>(maxEntries: number): LRUCache<string, Value> {
  return new LRUCache<string, Value>({ maxSize: maxEntries, sizeCalculation: () => 1 })
}
