import fc from 'fast-check'
import t from 'tap'
import { sizedCache } from '../../src/kernel/bounded-cache.js'
import { estimatedBytes } from '../../src/kernel/memory-size.js'

t.test('counts nested objects, arrays and bigints', async (t) => {
  t.equal(estimatedBytes(null), 0)
  t.equal(estimatedBytes(1), 0)
  t.equal(estimatedBytes('ab'), 20)
  t.equal(estimatedBytes({ a: 'ab' }), 32 + 8 + 20)
  t.equal(estimatedBytes({ a: ['ab', { b: 1n }] }), 32 + 8 + (32 + 8 + 20 + 8 + (32 + 8 + 24)))
})

t.test('a cache stays below its bytes, whatever is set, and keeps the most recently used values', async (t) => {
  const maxBytes = 10_000
  const step = fc.record({ key: fc.nat(40).map(String), length: fc.nat(6_000), isRead: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const cache = sizedCache<{ readonly text: string }>(maxBytes)
      for (const { key, length, isRead } of steps) {
        if (isRead) cache.get(key)
        else cache.set(key, { text: 'x'.repeat(length) })
        const kept = [...cache.values()].reduce((sum, value) => sum + estimatedBytes(value), 0)
        t.ok(kept <= maxBytes || t.fail(`${kept} bytes`))
        const isTooLarge = estimatedBytes({ text: 'x'.repeat(length) }) > maxBytes - 200
        if (!isRead && !isTooLarge && cache.get(key)?.text.length !== length) t.fail(`${key} was not kept`)
      }
    }),
  )
})
