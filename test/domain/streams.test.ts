import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import * as streams from '../../src/domain/streams.js'

const { isServiceStream, servicePrefixes } = streams
const someId = 'a3f1c9de-0f5b-4f0e-9c38-3d5a1f0f9a11'

t.test('every function for stream names returns a service stream', async (t) => {
  const names = Object.entries(streams).flatMap(([name, value]) => {
    if (!name.endsWith('Stream') || name === 'isServiceStream') return []
    return typeof value === 'function' ? [String((value as (id: unknown) => unknown)(someId))] : [String(value)]
  })
  t.ok(names.length > 12)
  for (const name of names) t.ok(isServiceStream(name), name)
})

t.test('no other code in src contains a stream name', async (t) => {
  const src = new URL('../../../src/', import.meta.url)
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const streamNamesIn = (source: string) =>
    [...source.matchAll(/['`]([$\w-]+-)(?:'|\$\{)|[sS]tream\w* = '([^']+)'/g)]
      .map(([, start, name]) => start ?? name ?? '')
      .filter(isServiceStream)
  t.strictSame(
    streamNamesIn("a('callback-') + `hash-$" + "{id}` + 'hash-reused'; const sweepStream = 'callbacks-sweep'"),
    ['callback-', 'hash-', 'callbacks-sweep'],
  )
  for (const file of files.filter((file) => !file.endsWith('domain/streams.ts'))) {
    t.strictSame(streamNamesIn(readFileSync(new URL(file, src), 'utf8')), [], file)
  }
})

t.test('other names are not service streams', async (t) => {
  for (const name of ['orders', 'transferx', 'a-transfer-1', '$ce-transfer', '']) t.notOk(isServiceStream(name), name)
})

t.test('the reference lists all prefixes', async (t) => {
  const page = readFileSync('docs/reference/eventstoredb-protocol.md', 'utf8')
  for (const prefix of servicePrefixes) t.ok(page.includes(`\`${prefix}\``), prefix)
})
