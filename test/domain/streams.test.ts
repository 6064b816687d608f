import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import * as ids from '../../src/commands/ids.js'
import { isServiceStream, servicePrefixes } from '../../src/domain/streams.js'
import { copiedStream, verifiedStream } from '../../src/event-store/copy/copy-record.js'

const someId = 'a3f1c9de-0f5b-4f0e-9c38-3d5a1f0f9a11'

t.test('every function that makes the name of a stream makes one that is known as the service’s', async (t) => {
  const names = Object.entries(ids).flatMap(([name, make]) =>
    name.endsWith('Stream') ? [(make as (...of: unknown[]) => string)(someId, someId)] : [],
  )
  t.ok(names.length > 8)
  for (const name of [...names, copiedStream, verifiedStream]) t.ok(isServiceStream(name), name)
})

t.test('so does whatever else is written like the name of a stream', async (t) => {
  const src = new URL('../../../src/', import.meta.url)
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !/^(event-store|http|cli)\//.test(file),
  )
  const found = new Set<string>()
  for (const file of files) {
    const source = readFileSync(new URL(file, src), 'utf8')
    for (const [, name = ''] of source.matchAll(/`([a-z]+(?:-[a-z]+)*-)\$\{/g)) found.add(name)
    for (const [, name = ''] of source.matchAll(/\w*[sS]tream = '([^']+)'/g)) found.add(name)
    for (const [, list = ''] of source.matchAll(/streamPrefixes: \[([^\]]*)\]/g)) {
      for (const [, name = ''] of list.matchAll(/'([^']+)'/g)) found.add(name)
    }
  }
  for (const name of ['transfer-', 'merchant-', 'callbacks-sweep', 'callback-']) t.ok(found.has(name), `found ${name}`)
  for (const name of found) t.ok(isServiceStream(name), name)
})

t.test('other names are not', async (t) => {
  for (const name of ['orders', 'transferx', 'a-transfer-1', '$ce-transfer', '']) t.notOk(isServiceStream(name), name)
})

t.test('the reference lists them', async (t) => {
  const page = readFileSync('docs/reference/eventstoredb-protocol.md', 'utf8')
  for (const prefix of servicePrefixes) t.ok(page.includes(`\`${prefix}\``), prefix)
})
