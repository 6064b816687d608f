import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { listedService } from '../support/listed-service.js'

const run = promisify(execFile)
const tool = (name: string) => resolve('node_modules', '.bin', name)

t.test('lists transfers with a generated TypeScript client and its types', async (t) => {
  const { baseUrl, webApiKey, trackingIds } = await listedService(t)
  // The directory must be below the packages that the generated code imports.
  const directory = mkdtempSync(resolve('dist', 'generated-client-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  await run(tool('oazapfts'), [`${baseUrl}/documentation/json`, join(directory, 'client.ts')])
  writeFileSync(
    join(directory, 'list.ts'),
    `import { defaults, listTransfers, type Transfer } from './client.js'
defaults.baseUrl = '${baseUrl}'
defaults.headers = { WebApiKey: '${webApiKey}' }
const found: Transfer[] = []
let cursor: string | undefined
do {
  const answer = await listTransfers({ kind: 'deposit', status: 'Pending', limit: 2, cursor })
  if (answer.status !== 200) throw new Error(answer.data.error.message)
  found.push(...answer.data.items)
  cursor = answer.data.nextCursor ?? undefined
} while (cursor)
const kinds: ('deposit' | 'withdrawal')[] = found.map(({ kind }) => kind)
console.log(JSON.stringify({ kinds, trackingIds: found.map(({ trackingId }) => trackingId) }))
`,
  )
  const options = ['--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2023,dom']
  await run(tool('tsc'), ['--ignoreConfig', ...options, '--types', 'node', join(directory, 'list.ts')])
  const { stdout } = await run(process.execPath, [join(directory, 'list.js')])
  const listed = JSON.parse(stdout) as { kinds: string[]; trackingIds: string[] }
  t.same(listed.trackingIds.sort(), trackingIds)
  t.same([...new Set(listed.kinds)], ['deposit'])
})
