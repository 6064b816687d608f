import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { AddressIndex, areRangesTooWide, isAddress, rangeProblem } from '../../src/commands/merchant/addresses.js'

function indexOf(ranges: { readonly [owner: string]: readonly string[] }): AddressIndex<string> {
  const index = new AddressIndex<string>()
  for (const [owner, list] of Object.entries(ranges)) for (const range of list) index.add(range, owner)
  return index
}

const found = (index: AddressIndex<string>, address: string) => [...index.find(address)].sort()

t.test('matches an address by itself and by every range that contains it, including the boundaries', async (t) => {
  const index = indexOf({
    a: ['203.0.113.7'],
    b: ['203.0.113.0/24', '10.0.0.0/8'],
    c: ['203.0.113.4/30'],
    d: ['0.0.0.0/0'],
    e: ['2001:db8::/32', '::1'],
  })
  const cases: [string, string][] = [
    ['203.0.113.7', 'abcd'],
    ['203.0.113.4', 'bcd'],
    ['203.0.113.3', 'bd'],
    ['203.0.113.8', 'bd'],
    ['203.0.114.0', 'd'],
    ['9.255.255.255', 'd'],
    ['10.0.0.0', 'bd'],
    ['10.255.255.255', 'bd'],
    ['11.0.0.0', 'd'],
    ['2001:db8::1', 'e'],
    ['2001:DB8:ffff:ffff:ffff:ffff:ffff:ffff', 'e'],
    ['2001:db9::', ''],
    ['::1', 'e'],
    ['0:0:0:0:0:0:0:1', 'e'],
    ['::2', ''],
  ]
  for (const [address, owners] of cases) t.equal(found(index, address).join(''), owners, address)
})

t.test('treats an IPv4-mapped IPv6 address as the IPv4 address in lookups and ranges', async (t) => {
  const index = indexOf({ a: ['10.0.0.0/8'], b: ['::ffff:192.0.2.0/120'], c: ['::ffff:192.0.2.1'], d: ['::/0'] })
  t.strictSame(found(index, '::ffff:10.1.2.3'), ['a'])
  t.strictSame(found(index, '::ffff:0a01:0203'), ['a'])
  t.strictSame(found(index, '192.0.2.1'), ['b', 'c'])
  t.strictSame(found(index, '::ffff:192.0.2.255'), ['b'])
  t.strictSame(found(index, '2001:db8::1'), ['d'], 'does not match 0.0.0.0/0')
})

t.test('matches no range for text that is not an address', async (t) => {
  const index = indexOf({ a: ['0.0.0.0/0', '::/0'] })
  for (const text of ['', 'localhost', '10.0.0.1:80', '10.0.0.256', '10.0.0.1/8', 'unknown', ' 10.0.0.1', '::g']) {
    t.strictSame(found(index, text), [], JSON.stringify(text))
    t.equal(index.holds(text, 'a'), false)
  }
})

t.test('rejects octal, hexadecimal and short forms, which can be read as different addresses', async (t) => {
  const right = ['10.0.0.1', '10.0.0.1/8', '0.0.0.0/0', '255.255.255.255/32', '::1', '::/0', '2001:db8::/128']
  for (const range of [...right, '::ffff:10.0.0.1', '::ffff:10.0.0.0/104'])
    t.equal(rangeProblem(range), undefined, range)
  const wrong = ['', '10', '10.1', '10.1/8', '010.0.0.1', '0x7f.0.0.1', '2130706433', '10.0.0.1/33', '10.0.0.1/-1']
  wrong.push(
    '10.0.0.1/',
    '10.0.0.1/8/8',
    '10.0.0.256',
    '::1/129',
    '10.0.0.1 ',
    '*',
    '10.0.0.0-10.0.0.9',
    'shop.example',
  )
  for (const range of wrong) {
    t.match(rangeProblem(range), { rule: 'ip-range-invalid' }, range)
    t.throws(() => new AddressIndex<string>().add(range, 'a'))
  }
})

t.test('rejects IPv6 zones and embedded octal or hexadecimal IPv4 parts', async (t) => {
  const right = ['::1', '2001:DB8::7', '::ffff:10.0.0.1', '64:ff9b::192.0.2.1', '1:2:3:4:5:6:7:8', 'fe80::', '10.0.0.1']
  for (const text of right) t.ok(isAddress(text), text)
  const wrong = [
    'fe80::1%eth0',
    '::ffff:010.0.0.1',
    '::ffff:0x7f.0.0.1',
    '::ffff:127.1',
    '::1/128',
    '10.0.0.0/8',
    '[::1]',
    '1::2::3',
    ':1',
  ]
  for (const text of [...wrong, '::1%', '::ffff:10.0.0.256', '0x7f000001', ' ::1', '', ':', 'a'])
    t.notOk(isAddress(text), text)
  const index = indexOf({ a: ['::1', '8.0.0.1'] })
  for (const text of ['::1%lo', '010.0.0.1', '8.1', '134217729']) t.same(found(index, text), [], text)
})

t.test('recognizes ranges that together include nearly all addresses, in any combination', async (t) => {
  const broad = [
    ['0.0.0.0/0'],
    ['::/0'],
    ['0.0.0.0/1', '128.0.0.0/1'],
    ['::/1', '8000::/1'],
    ['2000::/3'],
    ['::ffff:0:0/96'],
  ]
  broad.push(
    Array.from({ length: 256 }, (_, n) => `${n}.0.0.0/8`),
    ['::/0', '10.0.0.0/8'],
    ['1.0.0.0/3'],
  )
  for (const ranges of broad) t.ok(areRangesTooWide(ranges), ranges.slice(0, 3).join())
  const networks = [
    [],
    ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
    ['fc00::/7', 'fe80::/10'],
    ['127.0.0.1', '::1'],
  ]
  networks.push(['173.245.48.0/20', '104.16.0.0/13', '2400:cb00::/32'], Array(100).fill('10.0.0.0/8'))
  for (const ranges of networks) t.notOk(areRangesTooWide(ranges), ranges.slice(0, 3).join())
})

t.test('removes a range of one owner only, and removes a duplicate range with one call', async (t) => {
  const index = indexOf({ a: ['10.0.0.0/8', '10.0.0.0/8', '10.1.0.0/16'], b: ['10.0.0.0/8'] })
  index.remove('10.0.0.0/8', 'a')
  t.strictSame(found(index, '10.2.0.1'), ['b'])
  t.strictSame(found(index, '10.1.0.1'), ['a', 'b'])
  index.remove('10.0.0.0/8', 'a')
  index.remove('192.0.2.0/24', 'a')
  index.remove('10.0.0.0/8', 'unknown')
  t.strictSame(found(index, '10.2.0.1'), ['b'])
  index.remove('10.0.0.0/8', 'b')
  index.remove('10.1.0.0/16', 'a')
  t.strictSame(found(index, '10.1.0.1'), [])
  index.add('10.0.0.0/8', 'b')
  t.strictSame(found(index, '10.2.0.1'), ['b'], 'finds prefixes of a re-added length')
})

/** Generates addresses in which only a few bits vary, so that ranges often contain them. */
const ipv4 = fc
  .tuple(fc.constantFrom(10, 11), fc.nat(3), fc.constantFrom(0, 255), fc.nat(3))
  .map((parts) => parts.join('.'))
const ipv6 = fc
  .tuple(fc.constantFrom('2001:db8', '2001:db9'), fc.nat(3), fc.nat(3))
  .map(([a, b, c]) => `${a}:${b}::${c}`)
const range = fc.oneof(
  ipv4,
  ipv6,
  fc.tuple(ipv4, fc.nat(32)).map(([address, bits]) => `${address}/${bits}`),
  fc.tuple(ipv6, fc.nat(128)).map(([address, bits]) => `${address}/${bits}`),
  fc.tuple(ipv4, fc.nat(32)).map(([address, bits]) => `::ffff:${address}/${bits + 96}`),
)
const change = fc.record({ adds: fc.boolean(), range, owner: fc.constantFrom('a', 'b', 'c') })

/** Returns an address as a string of bits for the naive reference, in which a range is a prefix of bits. */
function bitsOf(address: string): string {
  const mapped = address.replace('::ffff:', '')
  if (mapped.includes('.'))
    return `4${mapped
      .split('.')
      .map((part) => Number(part).toString(2).padStart(8, '0'))
      .join('')}`
  const [head = '', tail = ''] = address.split('::')
  const [front, back] = [head.split(':'), tail.split(':')]
  const parts = [...front, ...Array(8 - front.length - back.length).fill('0'), ...back]
  return `6${parts.map((part) => Number.parseInt(part, 16).toString(2).padStart(16, '0')).join('')}`
}

function prefixOf(text: string): string {
  const [address = '', length] = text.split('/')
  const bits = bitsOf(address)
  if (length === undefined) return bits
  return bits.slice(0, 1 + Number(length) - (address.startsWith('::ffff:') ? 96 : 0))
}

t.test('finds the same ranges as a linear search after any additions and removals', async () => {
  const addresses = fc.array(
    fc.oneof(
      ipv4,
      ipv6,
      ipv4.map((address) => `::ffff:${address}`),
    ),
    { minLength: 1 },
  )
  fc.assert(
    fc.property(fc.array(change, { maxLength: 25 }), addresses, (changes, asked) => {
      const index = new AddressIndex<string>()
      const expectedEntries = new Set<string>()
      for (const { adds, range, owner } of changes) {
        if (adds) index.add(range, owner)
        else index.remove(range, owner)
        expectedEntries[adds ? 'add' : 'delete'](`${owner} ${prefixOf(range)}`)
      }
      return asked.every((address) => {
        const bits = bitsOf(address)
        const expected = [...expectedEntries]
          .map((entry) => entry.split(' '))
          .filter(([, prefix = '']) => bits.startsWith(prefix))
        const owners = [...new Set(expected.map(([owner]) => owner))].sort()
        return (
          isDeepStrictEqual(found(index, address), owners) &&
          ['a', 'b', 'c'].every((owner) => index.holds(address, owner) === owners.includes(owner))
        )
      })
    }),
    { numRuns: 300 },
  )
})
