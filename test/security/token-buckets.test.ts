import t from 'tap'
import { TokenBuckets } from '../../src/security/token-buckets.js'

t.test('allows a burst, then one request per interval, and returns the seconds until the next', (t) => {
  let now = 0
  const buckets = new TokenBuckets(() => now, 10)
  const take = () => buckets.take('a', 0.5, 3)
  t.same([take(), take(), take(), take()], [0, 0, 0, 2])
  now = 1_999
  t.equal(take(), 1)
  now = 2_000
  t.equal(take(), 0)
  t.equal(take(), 2)
  now = 1_000_000
  t.same([take(), take(), take(), take()], [0, 0, 0, 2], 'a long pause does not allow more than the burst')
  t.end()
})

t.test('keys do not share tokens, and the oldest key is dropped at the size limit', (t) => {
  const buckets = new TokenBuckets(() => 0, 2)
  const take = (key: string) => buckets.take(key, 1, 1)
  t.same([take('a'), take('b'), take('a'), take('b')], [0, 0, 1, 1])
  t.equal(take('c'), 0)
  t.equal(take('b'), 1)
  t.equal(take('a'), 0, 'c replaced a, so a has new tokens')
  t.end()
})
