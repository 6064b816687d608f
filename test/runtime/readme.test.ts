import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'

const run = promisify(execFile)
const readme = readFileSync('README.md', 'utf8')

t.test('the five-minute tour works as pasted, from the first line to the last callback', async (t) => {
  const directory = temporaryDirectory(t)
  const service = await startServiceProcess(t, { directory })
  const blocks = [...readme.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block)
  t.equal(blocks.length, 6)
  const receiverPort = await freePort()
  // Other tests have the usual ports; and `npx transferd` finds the program by the repository, which is not here.
  const script = blocks
    .join('\n')
    .replaceAll('127.0.0.1:3000', `127.0.0.1:${service.port}`)
    .replaceAll('listen(4000)', `listen(${receiverPort})`)
    .replaceAll(':4000', `:${receiverPort}`)
    .replaceAll('npx transferd', `node ${join(process.cwd(), 'dist/src/cli/main.js')}`)
  const until = `for i in $(seq 100); do ${`node ${join(process.cwd(), 'dist/src/cli/main.js')}`} callbacks list --transfer "$TRACKING" --status delivered --json | grep -q webhookId && break; done; kill %1`
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', `${script}\n${until}`], { cwd: directory })
  t.match(stdout, /"url":"http:[^"]+\/pay\//, 'the deposit is created')
  t.match(stdout, /transactionAmount +95\n/, 'it is completed')
  t.match(stdout, /"hasAmountMismatch":true/, 'the merchant sees the mismatch')
  t.match(stdout, /TransferCompleted/, 'the log has it')
  t.match(stdout, /waiting/, 'the callback is kept')
  t.match(stdout, /"Status":2,"StatusDescription":"Completed"/, 'the callback arrives')
  t.equal(await service.end('SIGTERM'), 0)
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

t.test("the banner's curl line works as pasted, and so does the one of a later start", async (t) => {
  const directory = temporaryDirectory(t)
  const { sampleCurl } = await import('../../src/runtime/banner.js')
  for (let start = 0; start < 2; start++) {
    const service = await startServiceProcess(t, { directory })
    const line = sampleCurl(service.baseUrl, service.sandbox!)
    for (let paste = 0; paste < 2; paste++) {
      t.match(JSON.parse((await run('bash', ['-c', line])).stdout), { statusDescription: 'Pending', amount: 100 })
    }
    t.equal(await service.end('SIGTERM'), 0)
  }
})

for (const page of ['README.md', 'CONTRIBUTING.md', 'docs/start/README.md', 'docs/decisions/README.md']) {
  t.test(`every link of ${page} leads to a file`, async (t) => {
    const links = [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link = '']) => link)
    t.ok(links.length > 0)
    for (const link of links) t.ok(existsSync(join(dirname(page), link)), link)
  })
}

t.test('the list of decisions names every one of them', async (t) => {
  const list = readFileSync('docs/decisions/README.md', 'utf8')
  for (const file of readdirSync('docs/decisions')) if (file !== 'README.md') t.ok(list.includes(`(${file})`), file)
})
