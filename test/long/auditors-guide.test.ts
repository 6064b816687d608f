import { execFile, spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { sampleCurl } from '../../src/sandbox/banner.js'
import { cliItems, cliJson } from '../cli/in-process.js'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { program } from '../support/program.js'
import { until } from '../support/until.js'

const run = promisify(execFile)
const hasPython = spawnSync('python3', ['--version']).status === 0
t.setTimeout(120_000)

const blocks = [...readFileSync('docs/auditing/README.md', 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(
  ([, block]) => block!,
)

interface StoryEntry {
  readonly position: string
}

t.test(
  "the auditor's guide works from its first command to a proof that is checked on a different machine",
  { skip: hasPython ? false : 'python3 is not installed' },
  async (t) => {
    const directory = temporaryDirectory(t)
    mkdirSync(join(directory, 'packages/transparency-log/examples'), { recursive: true })
    const examples = 'packages/transparency-log/examples'
    for (const name of ['check_proof.py', 'check_export.py'])
      copyFileSync(join(examples, name), join(directory, examples, name))
    const checkpoint = () => {
      const path = join(directory, 'data/audit/checkpoint')
      return existsSync(path) ? readFileSync(path, 'utf8') : undefined
    }
    /** Creates a deposit. The service seals all events when it stops, but only if it has opened the tree by then. */
    const createDeposit = async () => {
      const before = checkpoint()
      const service = await startServiceProcess(t, { directory })
      await until(() => checkpoint() !== before)
      const { stdout } = await run('bash', ['-c', sampleCurl(service.baseUrl, service.sandbox!)])
      t.equal(await service.end('SIGTERM'), 0)
      return (JSON.parse(stdout) as { trackingId: string }).trackingId
    }
    const trackingId = await createDeposit()
    const [merchant] = await cliItems<{ id: string }>(directory, 'merchants', 'list')
    const merchantId = merchant!.id
    const ada = ['--email', 'ada@example.com', '--name', 'Ada', '--role', 'auditor']
    const { userId } = await cliJson<{ userId: string }>(directory, 'users', 'create', ...ada)
    const story = await cliJson<StoryEntry[]>(directory, 'audit', 'story', trackingId)
    const now = new Date().toISOString()
    const withValues = (block: string) =>
      block
        .replaceAll('npx transferd', `node ${program}`)
        .replaceAll('<trackingId>', trackingId)
        .replaceAll('<merchantId>', merchantId)
        .replaceAll('<userId>', userId)
        .replaceAll('<position>', story.at(-1)!.position)
        .replaceAll('<day>', now.slice(0, 10))
        .replaceAll('2026-11-21T10:00:00Z', now)
    const bash = (script: string, cwd: string) => run('bash', ['-euo', 'pipefail', '-c', script], { cwd })

    const checkpointBlock = blocks.findIndex((block) => block.includes('kept-checkpoint'))
    await bash(
      blocks
        .slice(0, checkpointBlock + 1)
        .map(withValues)
        .join('\n'),
      directory,
    )
    t.match(readFileSync(join(directory, 'evidence/package.zip')).toString('latin1'), 'transferd-evidence/1')
    // Events after the kept checkpoint.
    await cliJson(directory, 'transfers', 'cancel', trackingId)
    await createDeposit()
    const here = blocks.slice(checkpointBlock + 1, -1).map(withValues)
    const { stdout } = await bash(here.join('\n'), directory)
    t.match(stdout, /The log verifies: it matches its tree and signature\./)
    t.match(
      stdout,
      new RegExp(`proves \\d+ events? of the deposit ${trackingId} at a\\s+tree\\s+size\\s+of\\s+\\d+\\.`),
    )
    t.match(stdout, /It matches the checkpoint of \d+ events that you kept\./)

    const elsewhere = temporaryDirectory(t)
    cpSync(join(directory, 'evidence'), elsewhere, { recursive: true })
    const isolated = { PATH: '/usr/bin:/bin:/usr/local/bin' }
    const script = blocks.at(-1)!
    t.notMatch(script, /transferd/)
    const checked = await run('bash', ['-euo', 'pipefail', '-c', script], { cwd: elsewhere, env: isolated })
    t.match(checked.stdout, new RegExp(`transfer-${trackingId}@1 .*\\nThe proof is valid\\.\\n$`))
    const proof = readFileSync(join(elsewhere, 'proof.json'), 'utf8')
    writeFileSync(join(elsewhere, 'proof.json'), proof.replace(/"leaf": "(.)/, '"leaf": "$1 '))
    await t.rejects(run('bash', ['-c', script], { cwd: elsewhere, env: isolated }), {
      code: 1,
      stderr: /The proof is invalid/,
    })
  },
)
