import { rmSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { Workplace } from './cli-stores.js'
import { answer, print, Refused, takesJson } from './command.js'
import { checkpointIn, contentOf, verifierOf } from './evidence.js'
import { integer, path, trackingId } from './options.js'

/** What shows that the events of a transfer are in the log, and what checks it. */
export function addAuditProofCommands(audit: Command): void {
  answer(
    audit
      .command('prove')
      .argument('<trackingId>', '', trackingId)
      .description('write a proof that the events of a transfer are in the log')
      .requiredOption('--out <file>', 'a new file for it', path)
      .option('--from <file>', 'a checkpoint that was kept: that the log has only grown since')
      .option('--revision <n>', 'this event only', integer({ min: 0, max: Number.MAX_SAFE_INTEGER })),
    prove,
  )
  const check = audit
    .command('check')
    .argument('<proof>', 'its file')
    .description('check a proof with nothing but the public key: no data directory, no network')
    .requiredOption('--key <key>', 'the verifier key, as `audit key` prints it')
    .option('--checkpoint <file>', 'a checkpoint that was kept: the proof must lead from it')
  takesJson(check).action(async () => {
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
  { configuration, rawEventStore, box, tell }: Workplace,
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
  if (!made) throw new Refused(`There is no such ${revision === undefined ? 'transfer' : 'event'}.`)
  writeNew(out, made.proof)
  const { events, notSealed, treeSize } = made
  if (notSealed > 0) {
    const newer = notSealed === 1 ? '1 newer event is' : `${notSealed} newer events are`
    tell(`${newer} in no checkpoint yet: the next one is at most a minute away`)
  }
  return { file: out, trackingId, events, notSealed, treeSize }
}

/** A whole file or none. @throws Refused */
function writeNew(file: string, content: string): void {
  try {
    writeFileSync(file, content, { flag: 'wx' })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw new Refused(`${file} is there already: name another place`)
    rmSync(file, { force: true })
    throw new Refused(`${file} cannot be written: ${message}`)
  }
}

async function checked(file: string, key: string, kept: string | undefined) {
  const { checkProof } = await import('../audit/proofs/check-proof.js')
  const verifier = await verifierOf(key)
  return checkProof(contentOf(file), verifier, kept === undefined ? undefined : await checkpointIn(kept))
}
