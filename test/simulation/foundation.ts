import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { CodeChallenge } from '../../src/wallet/wallet.js'
import { password, signIn } from '../support/dashboard.js'
import { MemoryWallet } from '../support/memory-wallet.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { scheduler, temporary } from './environment.js'
import { publicUrl, SimulatedNode } from './node.js'
import { MemoryLog } from './stores/memory-event-store.js'
import { MemoryDocuments } from './stores/memory-read-models.js'
import { must } from './violation.js'

const context = { actor: 'system:simulation', $correlationId: 'simulation', $causationId: 'simulation' }
export const customers = ['0', '1', '2', '3', '4', '5']
/** The name of a customer, which is nowhere after its erasure. */
export const canaryOf = (customer: string) => `Canary${customer}zq`
export const walletEmail = 'customer@example.com'
export const walletPassword = '734219'

export interface SimulatedMerchant {
  readonly id: string
  readonly webApiKey: string
  readonly secretKey: string
  readonly callbackPath: string
  readonly settlementKey: string
}

export interface SimulatedUser {
  readonly userId: string
  readonly email: string
  readonly role: string
  cookie: string
  csrfToken: string
}

/** The values that no event, log line or response may contain. */
class Secrets {
  readonly #values: string[] = []

  add(...values: string[]): void {
    this.#values.push(...values)
  }

  check(text: string, where: string): void {
    must('secrets', !walletSecret.test(text), () => `${where} contains a secret of the wallet: ${text}`)
    for (const value of this.#values)
      must('secrets', !text.includes(value), () => `${where} contains a secret: ${text}`)
  }
}

/** A code or the password of the wallet. No amount of a world is such a number, because all of them are multiples of 25. */
const walletSecret = /\b(90171[1-9]|734219)\b/

/** A wallet whose codes look like no other number of a world. */
export class SimulatedWallet extends MemoryWallet {
  override async sendCode({ id }: CodeChallenge): Promise<void> {
    await this.before('sendCode')
    if (!this.codes.has(id)) this.codes.set(id, `90171${1 + (this.codes.size % 9)}`)
  }
}

export type Foundation = Awaited<ReturnType<typeof layFoundation>>

let laid: Foundation | undefined

/** Returns the start of every world: an installation with two merchants and signed-in users. */
export function foundation(): Foundation {
  if (!laid) throw new Error('the foundation is not laid')
  return laid
}

export async function prepareFoundation(): Promise<void> {
  scheduler.reset(0)
  const laying = layFoundation()
  await scheduler.runUntil(laying, 1_000_000)
  laid = await laying
}

async function layFoundation() {
  const [log, documents, wallet, secrets] = [
    new MemoryLog(),
    new MemoryDocuments(),
    new SimulatedWallet(),
    new Secrets(),
  ]
  const directory = mkdtempSync(join(temporary, 'simulation-base-'))
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
  const masterKey = Buffer.alloc(32, 7)
  const servers = { openLog: () => log.open(), openReadModels: () => documents.open(), wallet, drop: () => undefined }
  const node = new SimulatedNode('n1', directory, masterKey, servers, () => undefined)
  const caller = scheduler.current
  await scheduler.call(node.boot(), 0, () => node.start())
  const { merchants: commands, users: people, directory: known } = node.service!
  const merchants: SimulatedMerchant[] = []
  for (const number of [0, 1]) {
    const callbackPath = `/callback/${number}`
    const settings = { ...merchantSettings, name: `Shop ${number}`, callbackUrl: `http://127.0.0.1:1${callbackPath}` }
    const different =
      number === 0
        ? { callbackOnMoney: true, mismatchToleranceMinor: 50_00n }
        : {
            autoCancelMismatch: true,
            approvalAboveMinor: 60_00n,
            manualControlAboveMinor: 300_00n,
            callbackOnCreate: true,
          }
    const issued = await commands.register({ ...settings, ...different }, context)
    const key = { name: 'settlement', scopes: ['settlement', 'read'], validUntil: null } as const
    const created = await commands.createApiKey(issued.id, key, context)
    if (!created.accepted) throw new Error(created.refusal.rule)
    merchants.push({ ...issued, callbackPath, settlementKey: created.webApiKey })
    secrets.add(created.webApiKey, issued.webApiKey, issued.secretKey, issued.webhookSecret)
  }
  await known.catchUp()
  const users: SimulatedUser[] = []
  const merchantIds = merchants.map(({ id }) => id)
  for (const [role, of] of [
    ['operator', merchantIds],
    ['operator', merchantIds],
    ['approver', merchantIds],
    ['approver', merchantIds],
    ['administrator', null],
    ['administrator', null],
    ['operations', null],
    ['auditor', null],
    ['viewer', merchantIds.slice(0, 1)],
  ] as const) {
    const email = `${role}-${users.length}@example.com`
    const created = await people.create(
      { email, name: `${role} ${users.length}`, role, merchantIds: of },
      context,
      password,
    )
    if (!created.accepted) throw new Error(created.refusal.rule)
    const app = await node.app()
    const { cookie, csrfToken } = await signIn(app, { email, password })
    users.push({ userId: created.user.userId, email, role, cookie, csrfToken })
  }
  secrets.add(password)
  await node.stop()
  scheduler.current = caller
  const [logSnapshot, documentsSnapshot] = [log.snapshot(), documents.snapshot()]
  return {
    ...{ log, documents, secrets, directory, masterKey, merchants, users, logSnapshot, documentsSnapshot },
    nowMs: scheduler.nowMs,
  }
}

export const origin = new URL(publicUrl).origin
