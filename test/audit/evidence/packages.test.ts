import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatVerifier } from '@transferd/transparency-log'
import t, { type Test } from 'tap'
import { type Evidence, openEvidence } from '../../../src/audit/evidence/evidence.js'
import { CustomerErasedError } from '../../../src/audit/evidence/evidence-package.js'
import { fileIn } from '../../../src/audit/evidence/zip.js'
import { transferStream } from '../../../src/domain/streams.js'
import { commitmentOf, fieldCommitments, keyIdIn, openFields } from '../../../src/privacy/customer-keys.js'
import { temporaryDirectory } from '../../support/processes.js'
import { destroyTestService } from '../../support/test-service.js'
import { signer } from '../proofs/test-sealed-log.js'
import { startEvidenceWorld } from './evidence-scenarios.js'

const world = await startEvidenceWorld()
t.teardown(() => destroyTestService(world.service))
const { raw, keys } = world.service.http.privacy

const python = spawnSync('python3', ['--version']).status === 0

/** Checks the package with the Python program, where Python is installed, and returns its content. */
function opened(bytes: Buffer) {
  const file = join(temporaryDirectory(t), 'package.zip')
  writeFileSync(file, bytes)
  if (python) {
    const { stderr } = spawnSync('python3', ['src/audit/evidence/verify.py', file, '--key', formatVerifier(signer)])
    t.equal(String(stderr), '')
  }
  const text = (name: string) => fileIn(bytes, name).toString()
  const evidence = JSON.parse(text('evidence.json')) as Evidence
  const { events } = openEvidence(evidence)
  return { evidence, events, en: text('report.html'), tr: text('report.tr.html') }
}

/** Returns the text of a report, with a space for each tag. */
const textOf = (html: string) =>
  html
    .replace(/<style>.*?<\/style>/s, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
const time = '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d UTC'

function requireTexts(t: Test, html: string, ...expected: readonly (string | RegExp)[]): void {
  const text = textOf(html)
  for (const each of expected) {
    const pattern = typeof each === 'string' ? each.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&') : each.source
    t.match(text, new RegExp(pattern.replaceAll('TIME', time)))
  }
}

t.test('a withdrawal with four eyes and a bank file: who decided what, with the roles at that time', async (t) => {
  const trackingId = await world.withdrawal()
  const { events, evidence, en, tr } = opened(await world.package(trackingId, ['name', 'account']))
  requireTexts(t, en, 'Withdrawal of 1,500.00 TRY: Completed', 'Requested 1,500.00 TRY', 'Booked 1,500.00 TRY')
  requireTexts(t, en, 'Approval for withdrawals above 1,000.00 TRY', 'Name Mary Shelley', 'DE89370400440532013000')
  requireTexts(t, en, /TIME Ada Lovelace User created; Operator; Merchants Blue Shop #\d+/)
  requireTexts(t, en, /TIME Approved Approved amount 1,500\.00 TRY .*? Grace Hopper \(Approver\) #\d+/)
  requireTexts(t, en, /TIME Put into a bank file Bank file \w+ Format CSV SHA-256 of the file [0-9a-f]{64}/)
  requireTexts(t, en, /Completed Actual amount 1,500\.00 TRY .*? Ada Lovelace \(Operator\)/, '3 more, not disclosed')
  requireTexts(t, tr, '1.500,00 TRY tutarında çekim: Tamamlandı', /Grace Hopper \(Onay yetkilisi\)/)
  const kinds = new Set(events.map(({ stream }) => stream.slice(0, stream.indexOf('-'))))
  t.strictSame([...kinds].sort(), ['installation', 'merchant', 'transfer', 'user'])
  const leaves = evidence.events.map(({ leaf }) => leaf).join()
  t.notMatch(leaves, /argon2|"v1\./, 'no leaf contains a password hash or a sealed secret')
  t.notMatch(en + tr + JSON.stringify(evidence), /8412|10000000146/, 'undisclosed data is in no file')
})

t.test('a deposit with a wrong amount: the correction, and who proposed and approved it', async (t) => {
  const { en, tr } = opened(await world.package(await world.correctedDeposit()))
  requireTexts(t, en, 'Deposit of 2,500.00 TRY: Completed', 'Received 2,500.00 TRY', 'Booked 2,500.00 TRY')
  requireTexts(t, en, /Corrected Reason Two digits were swapped.*? Proposed by Ada Lovelace \(Operator\)/)
  requireTexts(t, en, /Before the correction 5,200\.00 TRY Change of the received amount -2,700\.00 TRY/)
  requireTexts(t, en, 'Personal data not disclosed')
  requireTexts(t, tr, /Düzeltmeyi isteyen Ada Lovelace \(Operatör\)/, 'Kişisel veriler açıklanmadı')
})

t.test('a deposit that is paid by a wallet: the steps of the payment', async (t) => {
  const { en, events } = opened(await world.package(await world.walletDeposit(), ['account']))
  requireTexts(t, en, 'Deposit of 75.50 TRY: Completed', /Wallet login succeeded Account number \d+/)
  requireTexts(
    t,
    en,
    /Payment requested from the wallet .*? Wallet responded .*?Outcome collected Collected 75\.50 TRY/,
  )
  t.ok(events.some(({ stream }) => stream.startsWith('payment-')))
})

t.test('an erased customer: nothing can be disclosed, and the package says so', async (t) => {
  const trackingId = await world.erasedCustomer()
  const { en, tr, evidence } = opened(await world.package(trackingId))
  requireTexts(t, en, /Personal data erased TIME; it can no longer be disclosed/, 'Customer data erased')
  requireTexts(t, tr, /TIME tarihinde silindi; artık açıklanamaz/)
  t.notMatch(en + tr + JSON.stringify(evidence), /Erased Person|8415/)
  await t.rejects(world.package(trackingId, ['name']), CustomerErasedError)
})

t.test('a disclosure opens exactly the chosen fields of the events of this transfer', async (t) => {
  const [one, other] = [await world.withdrawal(), await world.withdrawal()]
  const { evidence } = opened(await world.package(one, ['name']))
  const disclosed = evidence.disclosed.flatMap(({ fields }) => fields)
  t.ok(disclosed.length > 0)
  t.strictSame(new Set(disclosed.map(({ field }) => field)), new Set(['name']))
  // The other transfer is of the same customer, with the same values.
  const [created] = await raw.readStream(transferStream(other))
  const keyId = keyIdIn(created!.data.sealed)!
  await keys.load([keyId])
  const key = keys.known(keyId)!
  const commitments = fieldCommitments(key, created!, openFields(key, created!, String(created!.data.sealed))!)
  t.equal(commitmentOf(commitments), String(created!.data.sealed).split('.')[2])
  const known = new Set([...disclosed.map(({ salt }) => salt), ...evidence.disclosed.flatMap(({ hashes }) => hashes)])
  for (const { field, salt, hash } of commitments) {
    t.notOk(known.has(salt), `the salt of ${field} of the other transfer stays secret`)
    t.notOk(known.has(hash), `${field} of the other transfer cannot be recognised`)
  }
})

t.test('the same transfer has the same package until the log grows', async (t) => {
  const trackingId = await world.correctedDeposit()
  const first = await world.package(trackingId)
  t.ok(first.equals(await world.package(trackingId)))
})
