import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { Customer } from '../../examples/customer.js'
import { cliJson } from '../cli/in-process.js'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { program } from '../support/program.js'

const run = promisify(execFile)
const readme = readFileSync('README.md', 'utf8')

/** Replaces the default ports, which other tests use, and `npx transferd`, which works only in the repository. */
function adapted(blocks: readonly string[], servicePort: number, receiverPort: number): string[] {
  return blocks.map((block) =>
    block
      .replaceAll('127.0.0.1:3000', `127.0.0.1:${servicePort}`)
      .replaceAll('listen(4000)', `listen(${receiverPort})`)
      .replaceAll(':4000', `:${receiverPort}`)
      .replaceAll('npx transferd', `node ${program}`),
  )
}

function shellBlocks(page: string): string[] {
  return [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block!)
}

/** Performs the manual steps of the tour, with the customer that it names. */
async function pay(url: string): Promise<void> {
  const [, email, password, code] = /as the test customer: `(.+)` with the password `(\d+)` and the code\s`(\d+)`/.exec(
    readme,
  )!
  await new Customer(
    email!,
    password!,
    async () => [{ kind: 'sms', to: '', code: code!, link: null }],
    () => {},
  ).payOnPage(url)
}

async function appears(file: string): Promise<string> {
  for (let i = 0; i < 1200; i++) {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
    if (text.endsWith('}')) return text
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${file} did not appear`)
}

t.test('the pasted five-minute tour ends with a paid deposit and a withdrawal', async (t) => {
  const directory = temporaryDirectory(t)
  const service = await startServiceProcess(t, { directory })
  const blocks = adapted(shellBlocks(readme), service.port, await freePort())
  t.equal(blocks.length, 6)
  // The script waits for the steps in the browser, and at the end for the printed callbacks.
  blocks[0] = blocks[0]!.replace('listen &', 'listen > listened &')
  blocks.splice(3, 0, 'until [ -e paid ]; do sleep 0.1; done')
  blocks.push(`until [ "$(grep -c '"Status":2' listened)" -ge 3 ]; do sleep 0.1; done; kill %1; cat listened`)
  const finished = run('bash', ['-euo', 'pipefail', '-c', blocks.join('\n')], { cwd: directory })
  finished.catch(() => {})
  const created = appears(join(directory, 'deposit.json'))
  // A script that fails explains why.
  await Promise.race([created, finished])
  const { url } = JSON.parse(await created) as { url: string }
  await pay(url)
  writeFileSync(join(directory, 'paid'), '')
  const { stdout } = await finished
  t.match(stdout, /"url":"http:[^"]+\/pay\//, 'the deposit is created')
  t.match(stdout, /"status":2[^\n]*"kind":"deposit"|"kind":"deposit"[^\n]*"status":2/, 'the merchant sees the payment')
  t.match(stdout, /^1 {2}\S+ \S+Z {2}Completed {2}by customer$/m, 'the log contains it')
  for (const referenceId of ['scenario-completed-[0-9a-f]+', 'order-1', 'payout-1']) {
    t.match(
      stdout,
      new RegExp(`"Status":2,[^\\n]*"RefereneceId":"${referenceId}"`),
      `the callback of ${referenceId} arrives`,
    )
  }
  t.equal(await service.end('SIGTERM'), 0)
})

t.test('the native flow works when pasted from its guide', async (t) => {
  const directory = temporaryDirectory(t)
  const service = await startServiceProcess(t, { directory })
  const blocks = adapted(shellBlocks(readFileSync('docs/merchants/native.md', 'utf8')), service.port, 0)
  t.equal(blocks.length, 6)
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', blocks.join('\n')], { cwd: directory })
  t.match(stdout, /"next_step":"ValidateUserDevice"/)
  t.match(stdout, /"result":"Completed"/)
  const created = JSON.parse(readFileSync(join(directory, 'created.json'), 'utf8')) as {
    result: { trackingId: string }
  }
  const shown = await cliJson<{ status: number; amount: number }>(
    directory,
    'transfers',
    'show',
    created.result.trackingId,
  )
  t.match(shown, { statusDescription: 'Completed', transactionAmount: 40 })
  t.equal(await service.end('SIGTERM'), 0)
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

t.test('the curl command in the banner works as pasted, also after a restart', async (t) => {
  const directory = temporaryDirectory(t)
  const { sampleCurl } = await import('../../src/sandbox/banner.js')
  for (let start = 0; start < 2; start++) {
    const service = await startServiceProcess(t, { directory })
    const line = sampleCurl(service.baseUrl, service.sandbox!)
    for (let paste = 0; paste < 2; paste++) {
      t.match(JSON.parse((await run('bash', ['-c', line])).stdout), { statusDescription: 'Pending', amount: 100 })
    }
    t.equal(await service.end('SIGTERM'), 0)
  }
})
