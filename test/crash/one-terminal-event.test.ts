import t from 'tap'
import { TransferCommands } from '../../src/commands/transfer/transfers.js'
import { startReceiver } from '../callbacks/receiver.js'
import { context } from '../support/embedded-store.js'
import { type Credentials, createDeposit } from '../support/merchant-client.js'
import { cliJson, runCli, startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { openServiceLog } from '../support/service-log.js'

t.test(
  '50 concurrent completions and cancellations of two processes give one terminal event and one callback',
  async (t) => {
    const directory = temporaryDirectory(t)
    const receiver = await startReceiver(t)
    const options = ['--callback-url', receiver.url, '--sandbox']
    const credentials = await cliJson<Credentials>(directory, 'merchants', 'create', '--name', 'Race', ...options)
    const service = await startServiceProcess(t, { directory })
    const { body } = await createDeposit(service.baseUrl, credentials)
    const trackingId = body.result!.trackingId

    const store = await openServiceLog(directory)
    t.teardown(() => store.close())
    const settings = { mismatchToleranceMinor: 0n, autoCancelMismatch: false }
    const clock = () => new Date().toISOString()
    const commands = new TransferCommands(store, clock, async () => settings as never)
    const here = Array.from({ length: 46 }, (_, n) =>
      n % 2 === 0
        ? commands.complete(trackingId, {}, context)
        : commands.changeStatus(trackingId, 'Cancel', null, context),
    )
    const elsewhere = ['complete', 'cancel', 'complete', 'cancel'].map((command) =>
      runCli(directory, ['transfers', command, trackingId, '--json']),
    )
    const results = await Promise.all(here)
    const exits = await Promise.all(elsewhere)

    const [, terminal, ...more] = await store.readStream(`transfer-${trackingId}`)
    t.strictSame(more, [], 'one event behind the creation')
    const changed = results.filter((result) => result.accepted && result.changed).length
    t.ok(changed <= 1, 'at most one of this process changed it')
    const won = terminal?.type === 'TransferCompleted' ? 'complete' : 'cancel'
    const wonHere = terminal?.metadata.actor === context.actor
    for (const [n, { status }] of exits.entries()) {
      const isSame = ['complete', 'cancel', 'complete', 'cancel'][n] === won
      t.equal(status, !isSame ? 1 : wonHere ? 3 : 0, 'exit status of the command line')
    }
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    t.strictSame(
      receiver.received.map(({ webhookId }) => webhookId),
      [terminal?.id],
      'one callback',
    )
    await service.end('SIGTERM')
  },
)
