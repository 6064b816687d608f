import { createHash } from 'node:crypto'
import { createReadStream, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Command } from 'commander'
import type { SignedManifest } from '../audit/proofs/export-signature.js'
import type { checkProof, TransferProof } from '../audit/proofs/transfer-proof.js'
import { violate } from '../domain/decider.js'
import { counted, escapeHidden } from '../kernel/text.js'
import type { VerifiedLog } from '../operations/audit/verify-log.js'
import { checkpointText } from './checkpoint-text.js'
import type { CommandStores } from './cli-stores.js'
import { defineBareCommand, defineCommand, defineStandaloneCommand } from './command.js'
import { Refused, refusedBy, UsageError } from './failures.js'
import { fieldTable } from './field-table.js'
import { interruptSignal, progressReporter } from './long-running.js'
import { eventName, type Names, namesOf } from './names.js'
import { flag, integer, option, path, repeatable, required } from './options.js'
import { exactTime, exactTimes, outputWidth, readable, table, wrap } from './readable.js'

/** Adds the commands that create and verify proofs that events are in the log. */
export function addProofCommands(audit: Command): void {
  defineCommand(audit, 'prove <trackingId>', 'write a proof that the events of a transfer are in the log', {
    examples: ['7b0f2c1e --out proof.txt', '7b0f2c1e --out proof.txt --from checkpoint-october --revision 0'],
    options: {
      out: required(option('<file>', 'a new file', path)),
      from: option('<file>', 'an earlier checkpoint, to prove that the log has only grown since'),
      revision: option('<n>', 'this event only', integer({ min: 0, max: Number.MAX_SAFE_INTEGER })),
    },
    async run(stores, { out, from, revision }, trackingId: string) {
      const { configuration, rawEventStore, box, notify } = stores
      const { proveTransfer } = await import('../audit/proofs/transfer-proof.js')
      const { DirectoryTiles } = await import('@transferd/transparency-log')
      const { logVerifier } = await import('../operations/audit/verify-log.js')
      const key = await logVerifier(configuration, rawEventStore, box)
      const sealed = { log: rawEventStore, tiles: new DirectoryTiles(configuration.audit.directory), key }
      const older = from === undefined ? undefined : await checkpointIn(from)
      const made = await proveTransfer(sealed, trackingId, { revision, older })
      if (!made && revision === undefined) throw refusedBy(violate('unknown-transfer'))
      if (!made) throw new Refused('unknown-event', 'Event not found.')
      writeNew(out, made.proof)
      const { events, notSealed, treeSize } = made
      if (notSealed > 0) notify(unsealedNotice(notSealed))
      const names = await namesOf(stores)
      const proven = await provenTransfer(stores, names, trackingId, { events, revision })
      return { result: { file: out, trackingId, ...proven, events, notSealed, treeSize }, names }
    },
    json: ({ result }) => result,
    text({ result: { file, trackingId, events, treeSize, kind, referenceId, merchantId, actors }, names }) {
      const of = kind ?? 'transfer'
      const summary = `${file} proves ${counted(events, 'event')} of the ${of} ${trackingId} at a tree size of ${treeSize}.`
      const facts = { referenceId, merchantId, actors: actors.map(({ actor }) => actor) }
      return `${escapedLines(summary)}\n${fieldTable(facts, names)}`
    },
  })
  const checking = 'verify a proof with the public key only, without a data directory or network'
  defineBareCommand(audit, 'check <proof>', checking, {
    examples: [
      'proof.txt --key "$(cat verifier-key)"',
      'proof.txt --key "$(cat verifier-key)" --checkpoint checkpoint-october',
    ],
    args: { proof: { description: 'the file' } },
    options: {
      key: required(option('<key>', 'the verifier key, the output of `audit key`')),
      checkpoint: option('<file>', 'an earlier checkpoint that the proof must continue'),
    },
    async run(_, { key, checkpoint: kept }, file: string) {
      const { checkProof } = await import('../audit/proofs/transfer-proof.js')
      const verifier = await verifierOf(key)
      const text = contentOf(file)
      const older = kept === undefined ? undefined : await checkpointIn(kept)
      const checked = checkProof(text, verifier, older)
      const { checkpoint } = JSON.parse(text) as Pick<TransferProof, 'checkpoint'>
      return { checked, checkpoint, keyId: verifier.keyId, kept: older }
    },
    json: ({ checked }) => checked,
    text: checkedText,
  })
  const checkingExport = 'verify an export with the public key only, without a data directory or network'
  defineBareCommand(audit, 'check-export <manifest>', checkingExport, {
    examples: [
      'export/manifest.json --key "$(cat verifier-key)"',
      'november.csv.manifest.json --key "$(cat verifier-key)" --json',
    ],
    args: { manifest: { description: 'the manifest, next to the files that it describes' } },
    options: { key: required(option('<key>', 'the verifier key, the output of `audit key`')) },
    async run(_, { key }, file: string) {
      const { openManifest } = await import('../audit/proofs/export-signature.js')
      const verifier = await verifierOf(key)
      const { manifest, checkpoint } = openManifest(contentOf(file), verifier)
      await requireFiles(file, manifest.files)
      const { origin, size: treeSize } = checkpoint
      const events = manifest.files.reduce((sum, each) => sum + each.events, 0)
      const checked = { valid: true, events, until: manifest.until, files: manifest.files.length, origin, treeSize }
      return { checked, note: manifest.checkpoint, keyId: verifier.keyId }
    },
    json: ({ checked }) => checked,
    text: ({ checked: { events, until, files, origin, treeSize }, note, keyId }) =>
      `${escapedLines(
        `The export is valid: ${counted(events, 'event')} in ${counted(files, 'file')}, up to position ${until}.`,
        `The key ${origin}+${keyId} signed the manifest, and a checkpoint of ${counted(treeSize, 'event')} that covers them.`,
      )}\n${checkpointText(note!)}`,
  })
}

/** Returns the notice about events that are newer than the checkpoint. */
export function unsealedNotice(count: number): string {
  return `${counted(count, 'newer event')} ${count === 1 ? 'is' : 'are'} not sealed yet: the next checkpoint follows within a minute`
}

/** Returns what identifies the transfer for people, and the actors of the proven events. A field of an unreadable event is null. */
async function provenTransfer(
  { eventStore }: CommandStores,
  { actorName, merchantName }: Names,
  trackingId: string,
  { events, revision }: { readonly events: number; readonly revision: number | undefined },
) {
  const { transferStream } = await import('../domain/streams.js')
  const { readableEvent } = await import('../event-store/read-event.js')
  const recorded = await eventStore.readStream(transferStream(trackingId))
  const created = recorded[0] && readableEvent(recorded[0])
  const isCreated = created?.type === 'DepositCreated' || created?.type === 'WithdrawalCreated'
  const { kind = null, referenceId = null, merchantId = null } = isCreated ? created.data : {}
  // The events that are not sealed yet are the last ones.
  const proven = revision === undefined ? recorded.slice(0, events) : recorded.slice(revision, revision + 1)
  const actors = new Set(proven.map(({ metadata }) => String(metadata.actor ?? '')))
  return {
    kind,
    referenceId,
    merchantId,
    merchantName: (merchantId && merchantName(merchantId)) ?? null,
    actors: [...actors].map((actor) => ({ actor, actorName: actorName(actor) })),
  }
}

interface Checked {
  readonly checked: ReturnType<typeof checkProof>
  readonly checkpoint: string
  readonly keyId: string
  /** The checkpoint that the auditor kept. */
  readonly kept: string | undefined
}

function checkedText({ checked, checkpoint, keyId, kept }: Checked): string {
  const { trackingId, origin, treeSize, continues, events } = checked
  const [first, last] = [events[0]!, events.at(-1)!]
  const revisions = first === last ? `revision ${first.revision}` : `revisions ${first.revision} to ${last.revision}`
  const continuing =
    continues === null
      ? 'It does not prove that the log continues an earlier checkpoint.'
      : `It proves that the log has only grown since a checkpoint of ${counted(continues, 'event')}.`
  const comparing =
    kept === undefined
      ? 'No checkpoint that you kept was compared (--checkpoint).'
      : `It matches the checkpoint of ${counted(Number(kept.split('\n')[1]), 'event')} that you kept.`
  const summary = escapedLines(
    'The proof is valid.',
    `It proves ${counted(events.length, 'event')} (${revisions}) of the transfer ${trackingId} in the log ${origin}.`,
    `The checkpoint has a tree size of ${treeSize}, and is signed by the key ${origin}+${keyId}. It is not older than the last of these events, recorded ${exactTime(last.recordedAt)}.`,
    continuing,
    comparing,
  )
  const times = exactTimes(events.map(({ recordedAt }) => recordedAt))
  const proven = table(events, {
    LEAF: { cell: 'index', align: 'right' },
    REVISION: { cell: 'revision', align: 'right' },
    RECORDED: (event) => times[events.indexOf(event)],
    EVENT: ({ type }) => eventName(type),
  })
  return `${summary}\n${proven}\n${checkpointText(checkpoint)}`
}

/** Returns each line on a separate line, regardless of the values in it. */
export function escapedLines(...lines: readonly string[]): string {
  return lines.map((line) => `${wrap(escapeHidden(line), outputWidth()).join('\n')}\n`).join('')
}

/** Compares the files of an export with its manifest. @throws VerificationError */
async function requireFiles(manifest: string, files: SignedManifest['files']): Promise<void> {
  const { VerificationError } = await import('@transferd/transparency-log')
  for (const { name, sha256 } of files) {
    const path = join(dirname(manifest), basename(name))
    const hash = createHash('sha256')
    if (existsSync(path)) for await (const chunk of createReadStream(path)) hash.update(chunk)
    if (hash.digest('hex') !== sha256)
      throw new VerificationError(`${name} is missing, or is not the file that the manifest describes`)
  }
}

/** Adds the commands that verify the whole log. */
export function addIntegrityCommands(audit: Command): void {
  const verifying = 'verify the log against its tree and signature; exit status 1 if it does not verify'
  defineStandaloneCommand(audit, 'verify', verifying, {
    examples: ['', '--older checkpoint-october --report'],
    options: {
      from: option('<checkpoint>', 'a checkpoint file up to which the log was verified earlier'),
      older: option('<checkpoint...>', 'checkpoint files whose events the log must still contain', repeatable()),
      key: option('<verifier key>', 'the output of `audit key` (default: the key in the data directory)'),
      report: flag('record the findings in the log, which stops payouts on all nodes'),
    },
    async run({ configuration, progress, clock, context }, { from, older = [], key, report = false }) {
      const { reportFindings, requireReporting, verifyLog } = await import('../operations/audit/verify-log.js')
      if (report) await requireReporting(configuration)
      const noteIn = async (file: string) => ({ name: file, note: await checkpointIn(file) })
      const verifier = key === undefined ? undefined : await verifierOf(key)
      const verified = await verifyLog(configuration, {
        ...(from !== undefined && { from: await noteIn(from) }),
        verifier,
        older: await Promise.all(older.map(noteIn)),
        withStores: true,
        signal: interruptSignal(),
        onProgress: progressReporter(
          progress,
          (verified: number, treeSize: number) => `verified ${verified} of ${treeSize} events`,
        ),
      })
      if (!report) return verified
      return { ...verified, reported: await reportFindings(configuration, verified, clock, context) }
    },
    text: verifiedText,
    finding({ holds, isComplete, problems }) {
      if (holds) return isComplete ? undefined : 'interrupted'
      return `the log does not verify: ${counted(problems, 'problem')} (see docs/operating/runbooks.md)`
    },
  })
  defineCommand(audit, 'key', 'print the verifier key, which auditors need to verify checkpoints', {
    examples: ['', '> verifier-key'],
    async run({ configuration, rawEventStore, box }) {
      const { formatVerifier } = await import('@transferd/transparency-log')
      const { logVerifier } = await import('../operations/audit/verify-log.js')
      return { verifierKey: formatVerifier(await logVerifier(configuration, rawEventStore, box)) }
    },
    text: ({ verifierKey }) => `${verifierKey}\n`,
  })
  const restarting = 'start a new tree, with a new key, over the current log; the earlier tree is set aside'
  defineCommand(audit, 'restart-tree', restarting, {
    examples: [
      '--reason "tree lost with its disk, ticket 204"',
      '--reason "tree lost with its disk, ticket 204" --yes',
    ],
    options: { reason: required(option('<text>', 'why, for the log')) },
    confirmation: {
      question: () => ({
        effect:
          'A new tree with a new key starts. Checkpoints, copies and proofs of the earlier tree no longer prove anything about later events.',
        word: 'new tree',
      }),
    },
    async run({ configuration, eventStore, rawEventStore, box, context }, { reason }) {
      const { formatVerifier } = await import('@transferd/transparency-log')
      const { restartTree } = await import('../operations/audit/audit-files.js')
      const { origin } = configuration.audit
      const { earlier, size, root, key } = await restartTree(
        { eventStore, rawEventStore },
        box,
        origin,
        reason,
        context,
      )
      const lost = earlier
        ? [
            `The tree ${earlier.origin} of ${earlier.startedAt}, which covered ${earlier.size} events, no longer continues.`,
            'Its checkpoints, copies and proofs verify only with its own key, and say nothing about the new tree.',
            'Witnesses and the copy must accept the new tree: empty the copy, and send the new key to your auditors.',
          ]
        : []
      return { verifierKey: formatVerifier(key), events: size, root: root.toString('base64'), lost }
    },
    text: ({ lost, ...summary }) =>
      [readable(summary), ...lost, 'Payouts stay stopped until you resume them.', ''].join('\n'),
  })
}

function verifiedText(verified: VerifiedLog & { readonly reported?: number }): string {
  const { holds, origin, keyId, treeSize, checkpoint, lastEventAt, from, isComplete, problems, findings } = verified
  const { unsealed, codesVerified, comparedWith, unread, reported } = verified
  const result = !holds
    ? `The log does not verify: ${counted(problems, 'problem')}.`
    : isComplete
      ? 'The log verifies: it matches its tree and signature.'
      : 'The verification was interrupted. It has found no problem so far.'
  const until = lastEventAt === null ? '' : `, the last one recorded ${exactTime(lastEventAt)}`
  const summary = escapedLines(
    result,
    ...(checkpoint === null
      ? ['No valid checkpoint was found.']
      : [`The key ${origin}+${keyId} signed the checkpoint of ${counted(treeSize, 'event')}.`]),
    `Verified ${counted(verified.verified, 'event')} from leaf ${from} on${until}. ${counted(unsealed, 'newer event')} ${unsealed === 1 ? 'is' : 'are'} not sealed yet.`,
    codesVerified
      ? 'The codes of the events were verified with the master key.'
      : 'The codes of the events were not verified, which needs the master key.',
    comparedWith.length > 0
      ? `Compared with the checkpoints in: ${comparedWith.join(', ')}.`
      : 'Compared with no checkpoint in another place.',
    ...unread.map((each) => `Not compared: ${each}`),
    ...(reported === undefined ? [] : [`Recorded ${counted(reported, 'new finding')} in the log.`]),
  )
  const columns = {
    WHAT: 'kind',
    PLACE: 'place',
    LEAF: { cell: 'leafIndex', align: 'right' },
    PROBLEM: 'problem',
  } as const
  const parts = [summary, ...(checkpoint === null ? [] : [checkpointText(checkpoint)])]
  return [...parts, ...(findings.length > 0 ? [table(findings, columns, outputWidth())] : [])].join('\n')
}

/** Writes the whole file or nothing. @throws Refused */
export function writeNew(file: string, content: string): void {
  try {
    writeFileSync(file, content, { flag: 'wx' })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw new Refused('file-exists', `${file} already exists: choose a different file`)
    rmSync(file, { force: true })
    throw new Refused('file-unwritable', `${file} cannot be written: ${message}`)
  }
}

// Files and keys that auditors and operators supply. An unusable one is wrong usage, not a finding.

/** @throws UsageError */
export function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
}

/** Reads a checkpoint file without verifying its signatures. @throws UsageError */
export async function checkpointIn(path: string): Promise<string> {
  const { parseCheckpoint, parseNote } = await import('@transferd/transparency-log')
  const note = contentOf(path)
  try {
    parseCheckpoint(parseNote(note).text)
  } catch (error) {
    throw new UsageError(`${path} is not a checkpoint: ${(error as Error).message}`)
  }
  return note
}

/** Parses the value of `--key`. @throws UsageError */
export async function verifierOf(key: string) {
  const { parseVerifier } = await import('@transferd/transparency-log')
  try {
    return parseVerifier(key)
  } catch (error) {
    throw new UsageError(`--key: ${(error as Error).message}`)
  }
}
