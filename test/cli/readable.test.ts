import t from 'tap'
import { time } from '../../src/cli/options.js'
import { age, cell, dueIn, exactTimes, jsonLine, readable, shownTime, table } from '../../src/cli/readable.js'
import { misleadingMetadata } from '../domain/transfer-samples.js'

t.test('prints an object as aligned names and values, with a dash for a missing value', async (t) => {
  t.equal(
    readable({ id: 'a', amount: 1.5, message: null, ranges: ['x', 'y'] }),
    'id       a\namount   1.5\nmessage  -\nranges   x, y\n',
  )
})

t.test('prints a table with heads, aligned columns, and dashes for missing values', async (t) => {
  const rows = [
    { id: 'a', amount: 1, note: null },
    { id: 'bcd', amount: 22, note: 'x'.repeat(9) },
  ]
  const columns = {
    ID: 'id',
    AMOUNT: { cell: (row: (typeof rows)[0]) => row.amount, align: 'right' },
    NOTE: { cell: 'note', max: 5 },
  } as const
  t.equal(table(rows, columns), 'ID   AMOUNT  NOTE\na         1  -\nbcd      22  xxxx…\n')
})

t.test('cuts no character in half', async (t) => {
  for (let max = 1; max < 8; max++) {
    const text = table([{ name: '😀'.repeat(9) }], { NAME: { cell: 'name', max } })
    t.equal(Buffer.from(text).toString(), text, String(max))
  }
})

t.test('wraps at least 20 columns, also on a narrower terminal', async (t) => {
  const columns = { ID: () => 'x'.repeat(30), TEXT: 'text' } as const
  const text = table([{ text: 'one two three four five six' }], columns, 25)
  t.same(
    text
      .split('\n')
      .slice(1)
      .map((line) => line.slice(32)),
    ['one two three four', 'five six', ''],
  )
})

t.test('wraps the last cell so that no line exceeds 100 columns', async (t) => {
  const reason = Array.from({ length: 40 }, (_, n) => `word${n}`).join(' ')
  const text = table([{ reason }], { EVENT: () => 'transfer-1@0', REASON: 'reason' })
  const lines = text.trimEnd().split('\n')
  t.ok(lines.length > 3)
  for (const line of lines) t.ok(line.length <= 100, line)
  for (const line of lines.slice(2)) t.match(line, /^ {14}word/)
  t.equal(lines.slice(1).join(' ').replace(/\s+/g, ' '), `transfer-1@0 ${reason}`, 'nothing is lost')
})

t.test('prints nested objects as tables, or below each other if they are wide', async (t) => {
  t.equal(readable({ data: { a: 1, b: { c: null } } }), 'data  a=1 b=c=-\n')
  t.equal(readable({ name: 'x', rows: [{ keyId: 1 }, { keyId: 2 }] }), 'name  x\nrows\n  KEY ID\n  1\n  2\n')
  const wide = { first: 'x'.repeat(150), second: 'y'.repeat(150) }
  t.equal(readable([wide, wide]), `${readable(wide)}\n${readable(wide)}`)
})

t.test('prints an open record unchanged as JSON, and an object without the meaning of its keys', async (t) => {
  const json = JSON.stringify(misleadingMetadata)
  t.equal(readable({ metadata: misleadingMetadata }), `metadata  ${json}\n`)
  t.equal(readable({ data: { metadata: misleadingMetadata } }), `data  metadata=${json}\n`)
  t.equal(readable([{ metadata: misleadingMetadata }]), `metadata  ${json}\n`)
  t.equal(table([{ metadata: misleadingMetadata }], { M: { cell: 'metadata' } }, 10_000), `M\n${json}\n`)
  t.equal(readable({ metadata: {}, other: null }), 'metadata  -\nother     -\n')
  t.equal(
    readable({ metadata: { 'a\u202e\n': '\u001b[2J' } }),
    'metadata  {"a\\u202e\\n":"\\u001b[2J"}\n',
    'the JSON is equivalent',
  )
  t.equal(readable({ 'a\n': { 'b\u202e': 1 } }), 'a\\u000a  b\\u202e=1\n', 'names are escaped')
  t.equal(readable([{ 'a\n': 1 }]), 'A\\u000a\n1\n')
})

t.test('prints times in UTC regardless of TZ and names the zone, and ages in one unit', async (t) => {
  const before = process.env.TZ
  t.teardown(() => {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
  })
  process.env.TZ = 'Europe/Istanbul'
  t.equal(shownTime('2026-11-21T20:10:59.000Z'), '2026-11-21 20:10Z')
  t.equal(readable({ at: '2026-11-21T22:10:00.000Z' }), 'at  2026-11-21 22:10Z\n')
  process.env.TZ = 'America/New_York'
  t.equal(cell('2026-11-21T04:10:00.000Z'), '2026-11-21 04:10Z')
  t.equal(time('2026-11-21'), '2026-11-21T00:00:00.000Z')
  t.equal(time(cell('2026-11-21T04:10:00.000Z')), '2026-11-21T04:10:00.000Z', 'options accept a printed time')
  t.equal(cell('at 2026-11-21T04:10:00.000Z'), 'at 2026-11-21T04:10:00.000Z', 'leaves a time within a text unchanged')
  const nowMs = Date.parse('2026-11-21T12:00:00Z')
  const ages: [string, string][] = [
    ['2026-11-21T11:59:15Z', '45s'],
    ['2026-11-21T11:47:30Z', '12m'],
    ['2026-11-21T06:59:59Z', '5h'],
    ['2026-11-18T11:00:00Z', '3d'],
    ['2026-11-21T12:05:00Z', '0s'],
  ]
  for (const [iso, expected] of ages) t.equal(age(iso, nowMs), expected)
  t.equal(dueIn('2026-11-21T12:05:30Z', nowMs), '5m')
  t.equal(dueIn('2026-11-21T11:59:00Z', nowMs), 'now')
})

t.test('prints exact times with milliseconds only if two neighbours are in the same second', async (t) => {
  const [first, second, third] = ['2026-11-27T21:59:42.003Z', '2026-11-27T21:59:42.900Z', '2026-11-27T21:59:43.000Z']
  t.strictSame(exactTimes([first, third]), ['2026-11-27 21:59:42Z', '2026-11-27 21:59:43Z'])
  t.strictSame(exactTimes([first, second]), ['2026-11-27 21:59:42.003Z', '2026-11-27 21:59:42.900Z'])
  t.strictSame(exactTimes([]), [])
})

t.test('escapes characters that a terminal does not display, which leaves the JSON equivalent', async (t) => {
  const stored = { name: 'Ada\u202eecalevoL', rows: [{ message: 'paid\n\u001b[2Jto\u200b 12' }], half: '\ud800' }
  t.equal(
    readable(stored),
    'name  Ada\\u202eecalevoL\nrows\n  MESSAGE\n  paid\\u000a\\u001b[2Jto\\u200b 12\nhalf  \\ud800\n',
  )
  const line = jsonLine(stored)
  t.match(line, /Ada\\u202eecalevoL/)
  for (const character of ['\u202e', '\u200b', '\u001b']) t.notOk(line.includes(character))
  t.same(JSON.parse(line), stored)
})
