import t from 'tap'
import { startReceiver } from '../callbacks/receiver.js'
import { cliJson } from '../cli/in-process.js'
import { context } from '../support/embedded-store.js'
import { type Credentials, createDeposit } from '../support/merchant-client.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { runCli, startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { openServiceLog } from '../support/service-log.js'
import { transferCommands } from '../support/transfer-commands.js'
import { until } from '../support/until.js'

const commandsOfProcesses = ['complete', 'cancel']

t.test(
  'appends one terminal event and sends one callback for 50 concurrent completions and cancellations',
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
    const clock = () => new Date().toISOString()
    const commands = transferCommands(store, clock, async () => merchantSettings)
    const local = Array.from({ length: 48 }, (_, n) =>
      n % 2 === 0
        ? commands.act(trackingId, { type: 'Complete' }, context)
        : commands.act(trackingId, { type: 'Cancel', message: null }, context),
    )
    const fromCli = commandsOfProcesses.map((command) =>
      runCli(directory, ['transfers', command, trackingId, '--json']),
    )
    const results = await Promise.all(local)
    const exits = await Promise.all(fromCli)

    const [, terminal, ...more] = await store.readStream(`transfer-${trackingId}`)
    t.strictSame(more, [], 'only one event follows the creation')
    const changed = results.filter((result) => result.accepted && result.changed).length
    t.ok(changed <= 1, 'at most one command of this process changes the transfer')
    const outcome = terminal?.type === 'TransferCompleted' ? 'complete' : 'cancel'
    const isLocal = terminal?.metadata.actor === context.actor
    for (const [n, { status }] of exits.entries()) {
      const isSame = commandsOfProcesses[n] === outcome
      t.equal(status, !isSame ? 1 : isLocal ? 3 : 0, 'the exit status reports who changed the transfer')
    }
    const callbacks = async () => (await store.readStream(`callback-${trackingId}`)).map(({ type }) => type)
    await until(async () => (await callbacks()).includes('CallbackDelivered'))
    t.equal(await service.end('SIGTERM'), 0)
    t.strictSame(await callbacks(), ['CallbackRecorded', 'CallbackDelivered'], 'the log contains one callback')
    t.strictSame(
      receiver.received.map(({ webhookId }) => webhookId),
      [terminal?.id],
      'the merchant receives the terminal event once',
    )
  },
)
