import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { Customer, type Message } from '../../examples/customer.js'
import { cliJson } from '../cli/in-process.js'
import { type ServiceProcess, startServiceProcess, temporaryDirectory } from '../support/processes.js'
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

/** Performs the manual steps of the tour. */
async function pay(service: ServiceProcess, url: string): Promise<void> {
  const { email, password } = service.sandbox!.wallet!
  const page = await fetch(url)
  const outbox = async () =>
    (await fetch(`${service.baseUrl}/sandbox/outbox?token=${service.sandbox!.outboxToken}`)).text()
  const messages = async (): Promise<Message[]> => {
    const text = await outbox()
    const code = /class="code">(\d{6})</.exec(text)?.[1] ?? null
    const link = /href="(http[^"]+\/device\/[^"]+)"/.exec(text)?.[1] ?? null
    return [
      { kind: 'sms', to: '', code, link: null },
      { kind: 'email', to: '', code: null, link },
    ]
  }
  t.equal(page.status, 200)
  await new Customer(email, password, messages, () => {}).payOnPage(url)
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
  const transferd = `node ${program}`
  // The script waits for the steps in the browser, and at the end for the printed callbacks.
  blocks.splice(3, 0, 'until [ -e paid ]; do sleep 0.1; done')
  const delivered = `${transferd} callbacks list --status delivered --json | grep -o webhookId | wc -l`
  blocks.push(`for i in $(seq 100); do [ "$(${delivered})" -ge 2 ] && break; done; kill %1`)
  const finished = run('bash', ['-euo', 'pipefail', '-c', blocks.join('\n')], { cwd: directory })
  finished.catch(() => {})
  const { url } = JSON.parse(await appears(join(directory, 'deposit.json'))) as { url: string }
  await pay(service, url)
  writeFileSync(join(directory, 'paid'), '')
  const { stdout } = await finished
  t.match(stdout, /"url":"http:[^"]+\/pay\//, 'the deposit is created')
  t.match(stdout, /"status":2[^\n]*"kind":"deposit"|"kind":"deposit"[^\n]*"status":2/, 'the merchant sees the payment')
  t.match(stdout, /^1 {2}\S+ \S+Z {2}Completed {2}by customer$/m, 'the log contains it')
  for (const referenceId of ['order-1', 'payout-1']) {
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
