import { LRUCache } from 'lru-cache'

/** Creates a cache that drops the least recently used entry. LRUCache's own `max` would allocate the memory for all entries in advance. */
export function boundedCache<Value extends object | true>(maxEntries: number): LRUCache<string, Value> {
  return new LRUCache<string, Value>({ maxSize: maxEntries, sizeCalculation: () => 1 })
}
