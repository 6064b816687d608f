import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import {
  leafHash,
  type NoteSigner,
  openCheckpoint,
  signNote,
  VerificationError,
  verifyInclusion,
} from '@transferd/transparency-log'
import { type Disclosable, disclosableFields } from '../../domain/disclosable.js'
import { paymentStream, streamPrefix, transferStream } from '../../domain/streams.js'
import { sealedField } from '../../event-store/event-codec.js'
import type { RecordedEvent } from '../../event-store/event-store.js'
import { type CustomerKeys, commitmentOf, fieldCommitments, keyIdIn, openFields } from '../../privacy/customer-keys.js'
import { wholeLeafOf } from '../integrity/event-leaf.js'
import { checkpointPath, readTree } from '../integrity/log-sealer.js'
import { continuation, hashesIn, NotSealedYet, proveEvents, type SealedLog } from '../proofs/transfer-proof.js'
import { type Disclosed, type Evidence, evidenceFormat, openEvidence } from './evidence.js'
import { decidingEvents } from './evidence-events.js'
import { type ReportTexts, reportOf } from './report.js'
import { fileIn, type PackedFile, zipOf } from './zip.js'

export interface EvidenceSource extends SealedLog {
  /** The key of the log, which signs the package. */
  readonly key: NoteSigner
  readonly keys: Pick<CustomerKeys, 'load' | 'known'>
}

interface PackageOptions {
  readonly disclose?: readonly Disclosable[]
  /** A checkpoint that was kept earlier. */
  readonly older?: string | undefined
}

/** The customer was erased, so nothing can be disclosed. */
export class CustomerErasedError extends Error {
  override readonly name = 'CustomerErasedError'
}

/**
 * Creates the evidence package of a transfer. Returns the bytes of its ZIP file, or `undefined` without such a transfer. `notSealed` is the
 * number of the transfer's events that are newer than the checkpoint.
 * @throws NotSealedYet; CustomerErasedError; VerificationError if log, tree and checkpoints do not match; StoreUnavailableError
 */
export async function evidencePackage(
  source: EvidenceSource,
  trackingId: string,
  { disclose = [], older }: PackageOptions = {},
) {
  const { log, tiles, key } = source
  const own = await log.readStream(transferStream(trackingId))
  if (own.length === 0) return undefined
  const signed = await tiles.read(checkpointPath)
  if (signed === undefined) throw new NotSealedYet('There is no checkpoint yet.')
  const checkpoint = Buffer.from(signed).toString('utf8')
  const { size, root } = openCheckpoint(checkpoint, key)
  const tree = readTree(tiles, size)
  const sealed = own.slice(0, (await proveEvents(own, tree, log)).length)
  if (sealed.length === 0)
    throw new NotSealedYet('No checkpoint covers this transfer yet: the next one is signed within a minute.')

  const customerKeyId = keyIdIn(sealed[0]!.data[sealedField])
  const fields = new Set<string>(disclose.flatMap((word) => disclosableFields[word]))
  const opener = fieldOpener(source, fields)
  const walletAccounts = disclose.includes('account') ? await payingAccounts(source, trackingId, opener) : []
  const chosen = await decidingEvents(log, sealed, { walletAccounts, customerKeyId })
  const proven = await proveEvents(chosen, tree, log)
  for (const { leaf, index, proof } of proven)
    if (!verifyInclusion(leafHash(leaf), index, size, root, hashesIn(proof)))
      throw new VerificationError(`Leaf ${index} is not in the tree of the checkpoint (run transferd audit verify).`)
  const events = proven.map((each, place) => ({ ...each, leaf: wholeLeafOf(chosen[place]!) }))
  const isErased = chosen.some(({ stream }) => stream.startsWith(streamPrefix.privacy))
  if (isErased && disclose.length > 0)
    throw new CustomerErasedError('The customer was erased: the personal data can no longer be disclosed.')

  const disclosed: Disclosed[] = []
  for (const [place, { index }] of events.entries()) {
    const found = await opener(chosen[place]!)
    if (found) disclosed.push({ index, ...found })
  }
  const evidence: Evidence = {
    format: evidenceFormat,
    trackingId,
    checkpoint,
    events,
    disclosed,
    ...(older !== undefined && { older: await continuation(older, tree, key) }),
  }
  const bytes = zipOf(await packedFiles(evidence, key))
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const shown = new Set(disclosed.flatMap((each) => each.fields.map(({ field }) => field)))
  return {
    bytes,
    sha256,
    events: events.length,
    treeSize: size,
    notSealed: own.length - sealed.length,
    /** A word is missing if no event has a field of it. */
    disclosed: disclose.filter((word) => disclosableFields[word].some((field) => shown.has(field))),
  }
}

/** Returns the checkpoint of a package without verifying it. @throws Error if it is not a package */
export function checkpointInPackage(bytes: Buffer): string {
  const { checkpoint } = JSON.parse(fileIn(bytes, 'evidence.json').toString()) as Partial<Evidence>
  if (typeof checkpoint !== 'string') throw new Error('evidence.json contains no checkpoint')
  return checkpoint
}

type Opener = ReturnType<typeof fieldOpener>

/** Creates a function that returns the commitments to the personal fields of an event, with those to disclose; `undefined` if it has none of them. */
function fieldOpener({ keys }: EvidenceSource, wanted: ReadonlySet<string>) {
  return async (event: RecordedEvent): Promise<Omit<Disclosed, 'index'> | undefined> => {
    const text = event.data[sealedField]
    const keyId = keyIdIn(text)
    if (keyId === undefined || wanted.size === 0) return undefined
    await keys.load([keyId])
    const key = keys.known(keyId)
    const opened = key && openFields(key, event, String(text))
    if (!opened) return undefined
    const commitments = fieldCommitments(key, event, opened)
    if (commitmentOf(commitments) !== String(text).split('.')[2])
      throw new VerificationError(`${event.stream}@${event.revision} does not commit to its personal data.`)
    const fields = commitments.flatMap(({ field, salt, value }, at) =>
      wanted.has(field) ? { at, field, salt, value } : [],
    )
    return fields.length === 0 ? undefined : { hashes: commitments.map(({ hash }) => hash), fields }
  }
}

async function payingAccounts({ log }: EvidenceSource, trackingId: string, opener: Opener): Promise<number[]> {
  const accounts = new Set<number>()
  for (const event of await log.readStream(paymentStream(trackingId)))
    for (const { field, value } of (await opener(event))?.fields ?? [])
      if (field === 'accountNumber') accounts.add(JSON.parse(value))
  return [...accounts]
}

/** Returns the files in the order of the package. */
async function packedFiles(evidence: Evidence, key: NoteSigner): Promise<PackedFile[]> {
  const asset = async (name: string) => ({
    name,
    content: await readFile(new URL(import.meta.resolve(`#data/evidence/${name}`))),
  })
  const [readMe, texts, verifyGo, verifyPy] = await Promise.all(
    ['README.txt', 'texts.json', 'verify.go', 'verify.py'].map(asset),
  )
  const opened = openEvidence(evidence)
  const fixed = JSON.parse(texts!.content.toString()) as ReportTexts
  const report = (name: string, language: 'en' | 'tr') => ({
    name,
    content: Buffer.from(reportOf(opened, fixed, language)),
  })
  const before = [readMe!, { name: 'evidence.json', content: Buffer.from(`${JSON.stringify(evidence)}\n`) }]
  const after = [report('report.html', 'en'), report('report.tr.html', 'tr'), texts!, verifyGo!, verifyPy!]
  const lines = [...before, ...after].map(
    ({ name, content }) => `${createHash('sha256').update(content).digest('hex')}  ${name}\n`,
  )
  const manifest = signNote(`${evidenceFormat}\n${lines.join('')}`, [key])
  return [...before, { name: 'manifest.txt', content: Buffer.from(manifest) }, ...after]
}
