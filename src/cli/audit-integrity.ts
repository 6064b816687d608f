import type { Command } from 'commander'
import type { VerifiedLog } from '../operations/audit/verify-log.js'
import { checkpointIn, verifierOf } from './checkpoint-files.js'
import type { CommandStores } from './cli-stores.js'
import { defineCommand, defineStandaloneCommand } from './command.js'
import { reason } from './options.js'
import { progressReporter } from './progress.js'
import { readable, table } from './readable.js'
import { interruptSignal } from './stop-signal.js'

interface Options {
  readonly from?: string
  readonly older?: readonly string[]
  readonly key?: string
}

export function addIntegrityCommands(audit: Command): void {
  const verify = audit
    .command('verify')
    .description('verify the log against its tree and signature; exit status 1 if it does not verify')
    .option('--from <checkpoint>', 'a checkpoint file up to which the log was verified earlier')
    .option('--older <checkpoint...>', 'checkpoint files whose events the log must still contain')
    .option('--key <verifier key>', 'the output of `audit key` (default: the key in the data directory)')
  defineStandaloneCommand(
    verify,
    async (configuration) => {
      const { verifyLog } = await import('../operations/audit/verify-log.js')
      const { from, older = [], key } = verify.opts<Options>()
      const noteIn = async (file: string) => ({ name: file, note: await checkpointIn(file) })
      if (key !== undefined) await verifierOf(key)
      return verifyLog(configuration, {
        ...(from !== undefined && { from: await noteIn(from) }),
        ...{ key, older: await Promise.all(older.map(noteIn)), signal: interruptSignal() },
        onProgress: progressReporter(
          (line) => verify.configureOutput().writeErr?.(`${line}\n`),
          (verified: number, treeSize: number) => `verified ${verified} of ${treeSize} events`,
        ),
      })
    },
    verifiedText,
    findingText,
  )
  defineCommand(
    audit.command('key').description('print the verifier key, which auditors need to verify checkpoints'),
    showKey,
    {
      json: (verifierKey) => ({ verifierKey }),
      text: (verifierKey) => `${verifierKey}\n`,
    },
  )
  defineCommand(
    audit
      .command('resume-payouts')
      .description('allow payouts again after the log failed to verify')
      .requiredOption('--reason <text>', 'for auditors', reason),
    resumePayouts,
  )
}

function verifiedText({ findings, ...summary }: VerifiedLog): string {
  const found = table(findings, [
    { head: 'WHAT', cell: ({ kind }) => kind },
    { head: 'PLACE', cell: ({ place }) => place },
    { head: 'LEAF', cell: ({ leafIndex }) => leafIndex, align: 'right' },
    { head: 'PROBLEM', cell: ({ problem }) => problem },
  ])
  return `${readable(summary)}${findings.length > 0 ? `\n${found}` : ''}`
}

function findingText({ holds, isComplete, problems }: VerifiedLog): string | undefined {
  if (!holds)
    return `the log does not verify: ${problems} ${problems === 1 ? 'problem' : 'problems'} (see docs/operating/runbooks.md)`
  return isComplete ? undefined : 'interrupted'
}

async function showKey({ configuration, rawEventStore, box }: CommandStores): Promise<string> {
  const { verifierKeyOf } = await import('../operations/audit/verify-log.js')
  return verifierKeyOf(configuration, rawEventStore, box)
}

async function resumePayouts({ eventStore, clock, context }: CommandStores, { reason }: { readonly reason: string }) {
  const { IntegrityCommands } = await import('../commands/integrity/integrity-commands.js')
  return new IntegrityCommands(eventStore, clock).resumePayouts(reason, context)
}
