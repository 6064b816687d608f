import t from 'tap'
import { jsonLine, readable } from '../../src/cli/readable.js'

t.test('an object is names and values, aligned; what is absent is a dash', async (t) => {
  t.equal(
    readable({ id: 'a', amount: 1.5, message: null, ranges: ['x', 'y'] }),
    'id       a\namount   1.5\nmessage  -\nranges   x, y\n',
  )
})

t.test('a list is a table, an empty one says so, and a wide one goes below one another', async (t) => {
  t.equal(readable([]), 'none\n')
  t.equal(
    readable([
      { id: 'a', n: 1 },
      { id: 'bcd', n: 22 },
    ]),
    'id   n\na    1\nbcd  22\n',
  )
  const wide = { first: 'x'.repeat(150), second: 'y'.repeat(150) }
  t.equal(readable([wide, wide]), `${readable(wide)}\n${readable(wide)}`)
})

t.test('objects inside are written out', async (t) => {
  t.equal(readable({ data: { a: 1, b: { c: null } } }), 'data  a=1 b=c=-\n')
  t.equal(readable({ name: 'x', rows: [{ a: 1 }, { a: 2 }] }), 'name  x\nrows\n  a\n  1\n  2\n')
})

t.test('what a terminal would not show as it is stands there as an escape, and is the same JSON', async (t) => {
  const stored = { name: 'Ada\u202eecalevoL', rows: [{ message: 'paid\n\u001b[2Jto\u200b 12' }], half: '\ud800' }
  t.equal(
    readable(stored),
    'name  Ada\\u202eecalevoL\nrows\n  message\n  paid\\u000a\\u001b[2Jto\\u200b 12\nhalf  \\ud800\n',
  )
  const line = jsonLine(stored)
  t.match(line, /Ada\\u202eecalevoL/)
  for (const character of ['\u202e', '\u200b', '\u001b']) t.notOk(line.includes(character))
  t.same(JSON.parse(line), stored)
})
