import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createWallet } from '../../src/main/compose-wallet.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { openStores } from '../../src/operations/stores/stores.js'
import { cliJson, runCli } from '../cli/in-process.js'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'

const password = '730914'
const wrongPassword = '580263'
const wrongCode = '617042'
const email = 'canary.customer@example.com'
const phone = '+905550417263'
const confirmUrl = 'https://pay.example/device/canary-link-9f1c'

t.test('no file, log line or metric contains a secret of a wallet after every operation', async (t) => {
  const directory = temporaryDirectory(t)
  const service = await startServiceProcess(t, { directory, environment: { LOG_LEVEL: 'trace' } })
  const data = join(directory, 'data')
  const opening = ['wallets', 'open', '--email', email, '--password', password, '--phone', phone, '--balance', '10']
  const { accountNumber } = await cliJson<{ accountNumber: number }>(directory, ...opening)

  const configuration = readConfiguration({ EVENT_STORE_URL: `embedded:${data}`, READ_MODEL_URL: `embedded:${data}` })
  const stores = await openStores(configuration)
  const clock = () => new Date().toISOString()
  const { wallet, outbox } = createWallet({
    ...{ ...stores, configuration, clock },
    installationName: 'pay.example',
    isSandbox: () => true,
  })
  t.match(await wallet.logIn(email, password, 'merchant'), { outcome: 'accepted' })
  t.match(await wallet.logIn(email, wrongPassword, 'merchant'), { outcome: 'refused' })
  const challenge = { id: randomUUID(), accountNumber }
  await wallet.sendCode(challenge, { merchantName: 'Shop', amountMinor: 100n })
  const code = (await outbox.list())[0]?.code ?? ''
  t.equal(await wallet.verifyCode(challenge, wrongCode), false)
  t.equal(await wallet.verifyCode(challenge, code), true)
  await wallet.requestTrust({ accountNumber, confirmUrl, merchantName: 'Shop', amountMinor: 100n })
  await wallet.trust(accountNumber, 'device-1')
  const payment = { accountNumber, description: 'Shop, 1', sandbox: false }
  await wallet.collect({ ...payment, trackingId: randomUUID(), amountMinor: 1_000n })
  await wallet.collect({ ...payment, trackingId: randomUUID(), amountMinor: 1n })
  await stores.close()

  const listed = await cliJson<object[]>(directory, 'outbox', 'list')
  t.match(listed, [
    { kind: 'email', to: email, code: null, link: confirmUrl },
    { kind: 'sms', to: phone, code, link: null },
  ])
  const again = await runCli(directory, opening)
  t.match(again, { status: 1, stdout: '' })
  const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text()
  const secrets = [password, wrongPassword, wrongCode, code, 'canary-link', 'canary.customer', phone.slice(1)]
  const search = (text: string, where: string) => {
    for (const secret of secrets) t.notOk(text.includes(secret), `${secret} in ${where}`)
  }
  const searchFiles = (when: string) => {
    const files = readdirSync(data, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    t.ok(files.some(({ name }) => name === 'events.db') && files.some(({ name }) => name === 'read-models.db'))
    for (const { name, parentPath } of files) search(readFileSync(join(parentPath, name), 'latin1'), `${name} ${when}`)
  }
  searchFiles('while it runs')
  t.equal(await service.end('SIGTERM'), 0)
  searchFiles('after it has stopped')
  search(metrics, 'the metrics')
  search(service.log(), 'the log lines')
  search(again.stderr, 'an error of the command line')
})
