import { rmSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { checkpointIn, contentOf, verifierOf } from './checkpoint-files.js'
import type { CommandStores } from './cli-stores.js'
import { addJsonOption, defineCommand, print, Refused } from './command.js'
import { integer, path, trackingId } from './options.js'

/** Adds the commands that create and verify proofs that events are in the log. */
export function addAuditProofCommands(audit: Command): void {
  defineCommand(
    audit
      .command('prove')
      .argument('<trackingId>', '', trackingId)
      .description('write a proof that the events of a transfer are in the log')
      .requiredOption('--out <file>', 'a new file', path)
      .option('--from <file>', 'an earlier checkpoint, to prove that the log has only grown since')
      .option('--revision <n>', 'this event only', integer({ min: 0, max: Number.MAX_SAFE_INTEGER })),
    prove,
  )
  const check = audit
    .command('check')
    .argument('<proof>', 'the file')
    .description('verify a proof with the public key only, without a data directory or network')
    .requiredOption('--key <key>', 'the verifier key, the output of `audit key`')
    .option('--checkpoint <file>', 'an earlier checkpoint that the proof must continue')
  addJsonOption(check).action(async () => {
    const { key, checkpoint } = check.opts<{ readonly key: string; readonly checkpoint?: string }>()
    print(check, await checked(String(check.args[0]), key, checkpoint))
  })
}

interface ProveOptions {
  readonly out: string
  readonly from?: string
  readonly revision?: number
}

async function prove(
  { configuration, rawEventStore, box, notify }: CommandStores,
  { out, from, revision }: ProveOptions,
  trackingId: string,
) {
  const { proveTransfer } = await import('../audit/proofs/prove-transfer.js')
  const { DirectoryTiles } = await import('@transferd/transparency-log')
  const { parseVerifier } = await import('@transferd/transparency-log')
  const { verifierKeyOf } = await import('../operations/audit/verify-log.js')
  const key = parseVerifier(await verifierKeyOf(configuration, rawEventStore, box))
  const sealed = { log: rawEventStore, tiles: new DirectoryTiles(configuration.audit.directory), key }
  const older = from === undefined ? undefined : await checkpointIn(from)
  const made = await proveTransfer(sealed, trackingId, { revision, older })
  if (!made) throw new Refused(`${revision === undefined ? 'Transfer' : 'Event'} not found.`)
  writeNew(out, made.proof)
  const { events, notSealed, treeSize } = made
  if (notSealed > 0) {
    const newer = notSealed === 1 ? '1 newer event is' : `${notSealed} newer events are`
    notify(`${newer} not sealed yet: the next checkpoint follows within a minute`)
  }
  return { file: out, trackingId, events, notSealed, treeSize }
}

/** Writes the whole file or nothing. @throws Refused */
function writeNew(file: string, content: string): void {
  try {
    writeFileSync(file, content, { flag: 'wx' })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw new Refused(`${file} already exists: choose a different file`)
    rmSync(file, { force: true })
    throw new Refused(`${file} cannot be written: ${message}`)
  }
}

async function checked(file: string, key: string, kept: string | undefined) {
  const { checkProof } = await import('../audit/proofs/check-proof.js')
  const verifier = await verifierOf(key)
  return checkProof(contentOf(file), verifier, kept === undefined ? undefined : await checkpointIn(kept))
}
