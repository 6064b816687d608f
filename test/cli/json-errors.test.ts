import t from 'tap'
import { failureDocument } from '../../src/cli/failures.js'
import { runCli as runProcess, temporaryDirectory } from '../support/processes.js'
import { cliJson, runCli } from './in-process.js'

interface Failed {
  readonly error: {
    readonly code: string
    readonly message: string
    readonly values?: object
    readonly notices?: string[]
  }
}

t.test(
  'with --json, every failure is one document on stderr, with the exit status of the same failure in words',
  async (t) => {
    const directory = temporaryDirectory(t)
    const shop = ['--name', 'Shop', '--callback-url', 'https://shop.example', '--allow-ip', '192.0.2.1']
    const { id } = await cliJson<{ id: string }>(directory, 'merchants', 'create', ...shop)
    const unknown = '00000000-0000-4000-8000-000000000000'
    const failures: [args: string[], status: number, code: string][] = [
      [['nonsense'], 2, 'wrong-usage'],
      [[], 2, 'wrong-usage'],
      [['merchants'], 2, 'wrong-usage'],
      [['merchants', 'nonsense'], 2, 'wrong-usage'],
      [['merchants', 'show'], 2, 'wrong-usage'],
      [['merchants', 'show', id, '--nonsense'], 2, 'wrong-usage'],
      [['merchants', 'show', id, 'more'], 2, 'wrong-usage'],
      [['merchants', 'create', '--name', 'A'], 2, 'wrong-usage'],
      [['transfers', 'list', '--status', 'Done'], 2, 'wrong-usage'],
      [['serve', '--roles', ''], 2, 'wrong-usage'],
      [['merchants', 'show', unknown], 1, 'unknown-merchant'],
      [['merchants', 'keys', 'revoke', id, '000000000000', '--yes'], 1, 'api-key-unknown'],
      [['transfers', 'show', unknown], 1, 'unknown-transfer'],
      [['audit', 'story', unknown], 1, 'unknown-transfer'],
      [['audit', 'state', 'merchant', unknown], 1, 'not-yet-existing'],
      [['projections', 'pause', 'nonsense'], 1, 'unknown-projection'],
      [['events', 'skip', `merchant-${id}@0`, '--reason', 'a test', '--yes'], 1, 'event-readable'],
      [['wallets', 'show', '5'], 1, 'unknown-account'],
      [['restore', 'none', '--to', 'new'], 1, 'backup-failed'],
      [['merchants', 'suspend', id], 2, 'yes-required'],
    ]
    for (const [args, status, code] of failures) {
      const failed = await runCli(directory, [...args, '--json'])
      t.same([failed.status, failed.stdout], [status, ''], args.join(' '))
      t.match(failed.stderr, /^\{"error":\{.*\}\}\n$/)
      const { error } = JSON.parse(failed.stderr) as Failed
      t.equal(error.code, code, args.join(' '))
      t.match(error.message, /\S/)
      t.notMatch(error.message, /^(error|transferd): /)
      const inWords = await runCli(directory, args)
      t.equal(inWords.status, status, args.join(' '))
      // Without --json, it reports the missing terminal instead.
      if (args.length > 1 && code !== 'yes-required')
        t.ok(inWords.stderr.includes(error.message), `${args.join(' ')}: ${error.message}`)
    }
  },
)

t.test('an invalid configuration, a missing log and a bug have codes', async (t) => {
  const directory = temporaryDirectory(t)
  const configuration = await runProcess(directory, ['transfers', 'list', '--json'], { PORT: 'x' })
  t.match(
    [configuration.status, JSON.parse(configuration.stderr)],
    [2, { error: { code: 'invalid-configuration', message: /PORT/ } }],
  )
  const serving = await runProcess(directory, ['serve', '--json'], { PORT: 'x' })
  t.match(JSON.parse(serving.stderr), { error: { code: 'invalid-configuration' } })
  const missing = await runProcess(directory, ['transfers', 'list', '--json'])
  t.match([missing.status, JSON.parse(missing.stderr)], [1, { error: { code: 'no-log' } }])
})

t.test('warnings are in the document of an error, and follow the result of a success', async (t) => {
  const directory = temporaryDirectory(t)
  const create = ['merchants', 'create', '--name', 'Shop', '--callback-url', 'https://shop.example', '--json']
  const created = await runCli(directory, create)
  t.equal(created.status, 0)
  t.ok(created.stderr.includes('transferd: without --allow-ip, this merchant cannot make requests'))
  const { id } = JSON.parse(created.stdout) as { id: string }
  t.match(await runCli(directory, ['merchants', 'set', id, '--min-amount', '10', '--max-amount', '5', '--json']), {
    status: 2,
    stdout: '',
    stderr: /"code":"min-above-max"/,
  })
  const failure = { status: 1, code: 'amount-too-large', message: 'Too large.', values: { largest: 1050n } } as const
  t.same(failureDocument(failure, ['a warning']), {
    error: { code: 'amount-too-large', message: 'Too large.', values: { largest: 10.5 }, notices: ['a warning'] },
  })
})
