import { createHash, createHmac } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateSigner } from '@transferd/transparency-log'
import { Secret, TOTP } from 'otpauth'
import t, { type Test } from 'tap'
import { createUserCommands } from '../../src/commands/user/user-commands.js'
import { encodeEvent } from '../../src/event-store/event-codec.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import type { KeyList, Rotation } from '../../src/operations/keys/key-commands.js'
import { idOfMasterKey } from '../../src/security/secret-box.js'
import { startReceiver } from '../callbacks/receiver.js'
import { sampleEvent } from '../event-store/codec/golden-events.js'
import { long } from '../support/long.js'
import { type Credentials, createDeposit } from '../support/merchant-client.js'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { openTestLog } from '../support/service-log.js'
import { runCli } from './in-process.js'

const [old, next, third] = [1, 2, 3].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer, Buffer]
const oldId = idOfMasterKey(old)
const nextId = idOfMasterKey(next)
const email = 'ada@example.com'
const password = 'correct horse battery staple'

interface Shop extends Credentials {
  readonly webhookSecret: string
}

/** Creates a log with a merchant, a wallet account and a user with a second factor, sealed with the old key. */
async function world(t: Test, callbackUrl = 'http://127.0.0.1:9/') {
  const directory = temporaryDirectory(t)
  const keyDirectory = join(directory, 'keys')
  mkdirSync(keyDirectory)
  const environment = { TRANSFERD_MASTER_KEY_DIRECTORY: keyDirectory, EVENT_STORE_URL: `embedded:${directory}/data` }
  const key = (name: string, bytes: Buffer) =>
    writeFileSync(join(keyDirectory, name), bytes.toString('hex'), { mode: 0o600 })
  key('2025.key', old)
  const json = async <Answer>(...args: string[]): Promise<Answer> => {
    const { status, stdout, stderr } = await runCli(directory, [...args, '--json'], environment)
    if (status !== 0) throw new Error(`${args.join(' ')}: ${status}: ${stderr}`)
    return JSON.parse(stdout) as Answer
  }
  const run = (...args: string[]) => runCli(directory, args, environment)
  const shop = ['--name', 'Shop', '--callback-url', callbackUrl, '--sandbox', '--callback-on-create']
  const merchant = await json<Shop>('merchants', 'create', ...shop)
  await json('merchants', 'rotate-secret', merchant.id, '--only', 'webhookSecret', '--yes')
  const wallet = ['--email', 'eve@example.com', '--password', '482915', '--phone', '+905551234567']
  const { accountNumber } = await json<{ accountNumber: number }>('wallets', 'open', ...wallet)
  const secondFactor = await makeUser({ ...environment })
  return { directory, keyDirectory, environment, key, json, run, merchant, accountNumber, secondFactor }
}

async function makeUser(environment: NodeJS.ProcessEnv): Promise<TOTP> {
  const configuration = readConfiguration(environment)
  const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
  const log = await openTestLog(configuration)
  const { data } = sampleEvent('DepositCreated')
  const deposit = encodeEvent({ type: 'DepositCreated', data }, context)
  await log.eventStore.append(`transfer-${data.trackingId}`, 'no_stream', [deposit])
  const { dataDirectory } = configuration
  const signer = generateSigner('transferd/test')
  writeFileSync(join(dataDirectory, 'audit.key'), `${log.box.seal(signer, 'audit key')}\n`, { mode: 0o600 })
  const clock = () => new Date().toISOString()
  const { MerchantCommands } = await import('../../src/commands/merchant/merchant-commands.js')
  const { users } = createUserCommands({
    ...log,
    clock,
    merchants: new MerchantCommands(log.eventStore, clock, log.box),
  })
  const ada = { email, name: 'Ada', role: 'administrator', merchantIds: null } as const
  const created = await users.create(ada, context, password)
  if (!created.accepted) throw new Error(created.refusal.rule)
  const { secret } = users.offerSecondFactor(created.user, 'pay.example')
  const totp = new TOTP({ secret: Secret.fromBase32(secret) })
  const earlier = totp.generate({ timestamp: Date.now() - 30_000 })
  const set = await users.setSecondFactor(created.user.userId, secret, earlier, context)
  if (!set.accepted) throw new Error(set.refusal.rule)
  await log.close()
  return totp
}

function signIn(baseUrl: string, code?: string) {
  return fetch(`${baseUrl}/dashboard/api/session`, {
    method: 'POST',
    headers: { origin: baseUrl, 'content-type': 'application/json' },
    body: JSON.stringify({ email, password, ...(code !== undefined && { code }) }),
  })
}

t.test('after a rotation the old key can be removed, and every secret still opens', async (t) => {
  const receiver = await startReceiver(t)
  const { directory, keyDirectory, environment, key, json, run, merchant, accountNumber, secondFactor } = await world(
    t,
    receiver.url,
  )
  const sealed = { merchants: 3, 'wallet accounts': 2, users: 2, customers: 1, audit: 1 }
  t.same((await json<KeyList>('master-keys', 'list')).keys, [
    { keyId: oldId, from: join(keyDirectory, '2025.key'), seals: true, sealed },
  ])
  key('2026.key', next)
  const before = await run('master-keys', 'list')
  t.match(
    before.stdout,
    new RegExp(`${oldId}  opens +merchants: 3, wallet accounts: 2, users: 2, customers: 1, audit: 1`),
  )
  t.match(before.stdout, new RegExp(`${nextId}  seals +nothing .*2026.key`))
  const rotation = { keyId: nextId, resealed: sealed, unused: [oldId] }
  t.same(await json<Rotation>('master-keys', 'rotate'), rotation)
  t.same(
    await json<Rotation>('master-keys', 'rotate'),
    { ...rotation, resealed: {} },
    'a repeated rotation changes nothing',
  )
  const { keys } = await json<KeyList>('master-keys', 'list')
  t.match(keys, [
    { keyId: oldId, sealed: {} },
    { keyId: nextId, sealed: { ...sealed, digests: 1 } },
  ])

  rmSync(join(keyDirectory, '2025.key'))
  const service = await startServiceProcess(t, { directory, environment })
  const { status, body } = await createDeposit(service.baseUrl, merchant)
  t.equal(status, 200, 'the service opens the SecretKey and verifies the hash')
  t.equal((await signIn(service.baseUrl)).status, 401, 'the sign-in requires a code')
  t.equal((await signIn(service.baseUrl, secondFactor.generate())).status, 200)
  while (receiver.received.length === 0) await new Promise((resolve) => setTimeout(resolve, 20))
  const { text, headers, trackingId, body: callback } = receiver.received[0]!
  t.equal(trackingId, body.result!.trackingId)
  const { Amount, RefereneceId } = callback
  const [amountText] = /(?<="Amount":)[\d.]+/.exec(text) ?? [String(Amount)]
  const hash = createHash('md5').update(`${merchant.secretKey}${amountText}${RefereneceId}`).digest('hex')
  t.equal(String(callback.HashCode).toLowerCase(), hash)
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`
  const key1 = Buffer.from(merchant.webhookSecret.slice('whsec_'.length), 'base64')
  const signature = createHmac('sha256', key1).update(signed).digest('base64')
  t.match(String(headers['webhook-signature']), new RegExp(`v1,${signature.replace(/[+]/g, '\\+')}`))
  await service.end('SIGTERM')
  t.match(await json('wallets', 'show', String(accountNumber)), { email: 'eve@example.com', phone: '+905551234567' })
  const again = ['--email', 'eve@example.com', '--password', '482915', '--phone', '+905551234567']
  t.match(await run('wallets', 'open', ...again), { status: 1, stderr: /email address is already in use/ })
})

t.test(
  'after the loss of a key, nothing starts until the operator gives the key up; then new secrets work',
  async (t) => {
    const { directory, keyDirectory, environment, key, json, run, merchant } = await world(t)
    key('2026.key', next)
    await json('master-keys', 'rotate')
    rmSync(join(keyDirectory, '2025.key'))
    const { trackingId } = sampleEvent('DepositCreated').data
    t.match(
      await json('events', 'show', trackingId),
      [{ data: { name: 'Ayşe Yılmaz' } }],
      'the rotated key opens the name',
    )
    rmSync(join(keyDirectory, '2026.key'))
    key('2027.key', third)
    t.match(await run('merchants', 'list'), { status: 1, stderr: new RegExp(nextId) })
    t.match(await run('master-keys', 'rotate'), { status: 1, stderr: new RegExp(nextId) })
    const { keys } = await json<KeyList>('master-keys', 'list')
    const lost = keys.find(({ from }) => from === null)
    t.match(lost, {
      keyId: nextId,
      seals: false,
      sealed: { merchants: 3, users: 2, 'wallet accounts': 2, digests: 1, customers: 1, audit: 1 },
    })
    const giveUp = (id: string, ...more: string[]) => run('master-keys', 'give-up', id, '--yes', ...more)
    t.match(await giveUp(nextId), { status: 2, stderr: /--reason/ })
    t.match(await giveUp(oldId, '--reason', 'lost'), { status: 1, stderr: /not encrypted with/ })
    t.match(await giveUp(nextId, '--reason', 'ticket 204'), { status: 0 })
    t.match(await giveUp(nextId, '--reason', 'ticket 204'), { status: 1, stderr: /not encrypted with/ })

    const [shown] = await json<{ data: { name: string; amountMinor: string } }[]>('events', 'show', trackingId)
    t.match(shown!.data, { name: '[erased]', amountMinor: '10050' }, 'the amount is readable, but the name is not')
    const [ada] = await json<{ email: string; userId: string }[]>('users', 'list')
    t.match(ada, { email: '(cannot be opened)', role: 'administrator' })
    const user = ['--email', email, '--name', 'Ada', '--role', 'administrator']
    const fresh = await json<{ password: string }>('users', 'create', ...user)
    t.match(fresh.password, /\w{20}/)
    await json('users', 'disable', ada!.userId)
    const secrets = await json<{ secretKey: string }>(
      'merchants',
      'rotate-secret',
      merchant.id,
      '--overlap-minutes',
      '0',
      '--yes',
    )
    // Only the long form starts a service once more.
    if (!long) return
    const service = await startServiceProcess(t, { directory, environment })
    const { status } = await createDeposit(service.baseUrl, { ...merchant, secretKey: secrets.secretKey })
    t.equal(status, 200)
    await service.end('SIGTERM')
  },
)
