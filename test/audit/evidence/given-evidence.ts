import { createHash, randomBytes } from 'node:crypto'
import { openEventLog } from '@transferd/event-log'
import { type NoteSigner, signNote } from '@transferd/transparency-log'
import type { Test } from 'tap'
import type { Evidence } from '../../../src/audit/evidence/evidence.js'
import { evidencePackage } from '../../../src/audit/evidence/evidence-package.js'
import { fileIn, zipOf } from '../../../src/audit/evidence/zip.js'
import { type Disclosable, disclosables } from '../../../src/domain/disclosable.js'
import { belongs } from '../../../src/event-store/event-codec.js'
import type { EventStore } from '../../../src/event-store/event-store.js'
import { CustomerKeys } from '../../../src/privacy/customer-keys.js'
import { openEmbeddedKeyStore } from '../../../src/privacy/embedded/embedded-key-store.js'
import { sealing } from '../../../src/privacy/sealing-store.js'
import { createSecretBox } from '../../../src/security/secret-box.js'
import { goldenEvents } from '../../event-store/codec/golden-events.js'
import { temporaryDirectory } from '../../support/processes.js'
import { signer, TestSealedLog } from '../proofs/test-sealed-log.js'

export const trackingId = '0e1b7c53-4f0f-5a58-9b55-1f3f4d0a7b10'
export const merchantId = '6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11'
/** The users whom the stored examples of a transfer's events name. */
export const users = [...goldenEvents.values()]
  .filter(({ type }) => belongs(type, 'transfer-1'))
  .flatMap((each) => JSON.stringify(each).match(/(?<=user:)[\w-]{36}/g) ?? [])
  .filter((user, place, all) => all.indexOf(user) === place)
export const walletAccount = 4_711_000_001
const paymentId = 'account-2026-11-22-d-99999999-1'
const bankEntries = 'bankentries-account-2026-11-22-d-99999999'

interface Given {
  readonly data?: object
  readonly actor?: string
}

/** A log with the stored examples of events, and the keys of its customers. */
export class GivenLog {
  readonly #revisions = new Map<string, number>()

  private constructor(
    readonly sealed: TestSealedLog,
    readonly keys: CustomerKeys,
    readonly store: EventStore,
  ) {}

  static async open(t: Test): Promise<GivenLog> {
    // A test can open several logs, and tap has only one directory per test.
    const raw = await openEventLog({ directory: temporaryDirectory(t), writerThread: false })
    t.teardown(() => raw.close())
    const keys = new CustomerKeys(
      openEmbeddedKeyStore({ directory: temporaryDirectory(t) }),
      createSecretBox(randomBytes(32)),
    )
    t.teardown(() => keys.close())
    return new GivenLog(new TestSealedLog(raw), keys, sealing(raw, keys))
  }

  /** Appends an example, such as `UserCreated.v1`, with these fields in place of the example's. */
  async append(stream: string, example: string, { data, actor }: Given = {}): Promise<void> {
    const golden = goldenEvents.get(example)!
    const count = this.#revisions.get(stream) ?? 0
    this.#revisions.set(stream, count + 1)
    // Indexes of other streams are between those of a package.
    for (let other = 0; other < count % 3; other++) await this.sealed.append(`other-${stream}`, 'Other')
    const place = await this.store.readStream(stream)
    const id = `00000000-0000-4000-8000-${createHash('sha256').update(`${stream}@${count}`).digest('hex').slice(0, 12)}`
    const metadata = { ...golden.metadata, ...(actor && { actor }) }
    const event = { id, type: golden.type, data: { ...golden.data, ...data }, metadata }
    await this.store.append(stream, place.length === 0 ? 'no_stream' : place.length - 1, [event])
  }

  /** Appends what the service records before a transfer. */
  async appendInstallation(): Promise<void> {
    await this.append('installation-currency', 'CurrencyBound.v1')
    await this.append(`merchant-${merchantId}`, 'MerchantRegistered.v2')
    for (const [number, userId] of users.entries()) {
      await this.append(`user-${userId}`, 'UserCreated.v1', { data: { userId, name: `User <${number}>` } })
    }
  }

  /** Appends a transfer with every event that its package can contain, in an order that the service need not allow. */
  async appendTransfer(creation: 'DepositCreated.v2' | 'WithdrawalCreated.v3'): Promise<void> {
    const streams = [
      ...[`transfer-${trackingId}`, `payment-${trackingId}`, `callback-${trackingId}`, `payouts-${merchantId}`],
      ...[bankEntries, `wallet-${walletAccount}`, `user-${users[0]!}`, `merchant-${merchantId}`, 'integrity-log'],
    ]
    const kind = creation.startsWith('Deposit') ? 'deposit' : 'withdrawal'
    const ids = { trackingId, merchantId, kind, accountNumber: walletAccount, paymentId, bankPaymentId: paymentId }
    const isTaken = /^(UserCreated|MerchantRegistered|DepositCreated|WithdrawalCreated)\./
    await this.append(`transfer-${trackingId}`, creation, {
      data: { trackingId, merchantId, userId: 'Zoë & "co"\u202e' },
    })
    const given = [...goldenEvents].flatMap(([example, { type, data }]) => {
      const stream = streams.find((each) => belongs(type, each))
      if (!stream || isTaken.test(example)) return []
      const own = Object.entries(ids).filter(([field]) => typeof data[field] === typeof ids[field as keyof typeof ids])
      return [{ stream, example, data: Object.fromEntries(own) }]
    })
    for (const { stream, example, data } of given) await this.append(stream, example, { data })
    await this.append(`transfer-${trackingId}`, 'AttentionResolved.v1', { data: { trackingId, merchantId, kind } })
  }

  async package({ disclose = disclosables, older }: { disclose?: readonly Disclosable[]; older?: string } = {}) {
    const { log, tiles } = this.sealed
    const source = { log, tiles, key: signer, keys: this.keys }
    return (await evidencePackage(source, trackingId, { disclose, older }))!.bytes
  }
}

const names = ['README.txt', 'evidence.json', 'report.html', 'report.tr.html', 'texts.json', 'verify.go', 'verify.py']

/** Returns the files of a package, except the manifest, in their order. */
export function filesIn(file: Buffer): Map<string, Buffer> {
  return new Map(names.map((name) => [name, fileIn(file, name)]))
}

export function evidenceIn(file: Buffer): Evidence {
  return JSON.parse(fileIn(file, 'evidence.json').toString())
}

/** Returns a package of these files with this manifest, or one that the log's key signs. */
export function packed(files: ReadonlyMap<string, Buffer>, manifest = manifestOf(files, signer)): Buffer {
  const contents = [...files].map(([name, content]) => ({ name, content }))
  return zipOf(contents.toSpliced(2, 0, { name: 'manifest.txt', content: Buffer.from(manifest) }))
}

export function manifestOf(files: ReadonlyMap<string, Buffer>, by: NoteSigner): string {
  const lines = [...files].map(([name, content]) => `${createHash('sha256').update(content).digest('hex')}  ${name}\n`)
  return signNote(`transferd-evidence/1\n${lines.join('')}`, [by])
}
