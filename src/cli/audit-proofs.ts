import { readFileSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { answer, print, Refused, takesJson, UsageError } from './command.js'
import { integer, trackingId } from './options.js'
import type { Workplace } from './workplace.js'

/** What shows that the events of a transfer are in the log, and what checks it. */
export function addAuditProofCommands(audit: Command): void {
  answer(
    audit
      .command('prove')
      .argument('<trackingId>', '', trackingId)
      .description('write a proof that the events of a transfer are in the log')
      .requiredOption('--out <file>', 'a new file for it')
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
  const { DirectoryTiles } = await import('../audit/tree/directory-tiles.js')
  const { parseVerifier } = await import('../audit/tree/note-keys.js')
  const { verifierKeyOf } = await import('../runtime/verify-log.js')
  const key = parseVerifier(await verifierKeyOf(configuration, rawEventStore, box))
  const sealed = { log: rawEventStore, tiles: new DirectoryTiles(configuration.audit.directory), key }
  const older = from === undefined ? undefined : readFileSync(from, 'utf8')
  const made = await proveTransfer(sealed, trackingId, { revision, older })
  if (!made) throw new Refused(`There is no such ${revision === undefined ? 'transfer' : 'event'}.`)
  writeFileSync(out, made.proof, { flag: 'wx' })
  const { events, notSealed, treeSize } = made
  if (notSealed > 0) {
    const newer = notSealed === 1 ? '1 newer event is' : `${notSealed} newer events are`
    tell(`${newer} in no checkpoint yet: the next one is at most a minute away`)
  }
  return { file: out, trackingId, events, notSealed, treeSize }
}

async function checked(file: string, key: string, kept: string | undefined) {
  const { checkProof } = await import('../audit/proofs/check-proof.js')
  const { parseVerifier } = await import('../audit/tree/note-keys.js')
  const verifier = verifierOf(parseVerifier, key)
  return checkProof(readFileSync(file, 'utf8'), verifier, kept && readFileSync(kept, 'utf8'))
}

function verifierOf<Verifier>(parse: (text: string) => Verifier, key: string): Verifier {
  try {
    return parse(key)
  } catch (error) {
    throw new UsageError(`--key: ${(error as Error).message}`)
  }
}
