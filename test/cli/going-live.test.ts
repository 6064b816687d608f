import t from 'tap'
import { temporaryDirectory } from '../support/processes.js'
import { cliJson, runCli } from './in-process.js'

t.test(
  'a sandbox merchant that goes live keeps its settings and gets a warning about unsigned withdrawals',
  async (t) => {
    const directory = temporaryDirectory(t)
    const create = [
      'merchants',
      'create',
      '--sandbox',
      '--name',
      'A',
      '--callback-url',
      'https://merchant.example/callbacks',
    ]
    const [one, other] = [
      await cliJson<{ id: string }>(directory, ...create),
      await cliJson<{ id: string }>(directory, ...create),
    ]
    const unsigned = await runCli(directory, ['merchants', 'set', one.id, '--no-sandbox', '--json'])
    t.match(unsigned, { status: 0, stderr: /withdrawals of this merchant do not require an X-Signature/ })
    t.match(JSON.parse(unsigned.stdout), { sandbox: false, requireSignature: 'none' })
    const signed = ['merchants', 'set', other.id, '--no-sandbox', '--require-signature', 'withdrawals']
    const { status, stderr } = await runCli(directory, signed)
    t.equal(status, 0)
    t.notMatch(stderr, /X-Signature/)
  },
)
