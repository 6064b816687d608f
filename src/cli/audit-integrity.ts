import type { Command } from 'commander'
import type { VerifiedLog } from '../operations/audit/verify-log.js'
import type { Workplace } from './cli-stores.js'
import { answer, answerAlone } from './command.js'
import { checkpointIn, verifierOf } from './evidence.js'
import { reason } from './options.js'
import { readable, table } from './readable.js'
import { interruption } from './stop-signal.js'

const tellEveryMs = 1_000

interface Options {
  readonly from?: string
  readonly older?: readonly string[]
  readonly key?: string
}

export function addIntegrityCommands(audit: Command): void {
  const verify = audit
    .command('verify')
    .description('compare the log with its tree and its signature; exit status 1 where it does not hold')
    .option('--from <checkpoint>', 'a file: what it is of was verified before, and is not looked at again')
    .option('--older <checkpoint...>', 'files: the log must have all that they are of')
    .option('--key <verifier key>', 'as `audit key` printed it; that of the data directory when absent')
  answerAlone(
    verify,
    async (configuration) => {
      const { verifyLog } = await import('../operations/audit/verify-log.js')
      const { from, older = [], key } = verify.opts<Options>()
      const kept = async (file: string) => ({ name: file, note: await checkpointIn(file) })
      if (key !== undefined) await verifierOf(key)
      return verifyLog(configuration, {
        ...(from !== undefined && { from: await kept(from) }),
        ...{ key, older: await Promise.all(older.map(kept)), signal: interruption() },
        onProgress: progressLines((line) => verify.configureOutput().writeErr?.(`${line}\n`)),
      })
    },
    verifiedText,
    whatIsBad,
  )
  answer(audit.command('key').description('the verifier key: what auditors verify checkpoints with'), showKey, {
    json: (verifierKey) => ({ verifierKey }),
    text: (verifierKey) => `${verifierKey}\n`,
  })
  answer(
    audit
      .command('resume-payouts')
      .description('let withdrawals be paid again after the log did not verify')
      .requiredOption('--reason <text>', 'for auditors', reason),
    resumePayouts,
  )
}

/** A line a second. */
function progressLines(tell: (line: string) => void): (verified: number, treeSize: number) => void {
  let toldAtMs = performance.now()
  return (verified, treeSize) => {
    if (performance.now() - toldAtMs < tellEveryMs) return
    toldAtMs = performance.now()
    tell(`verified ${verified} of ${treeSize} events`)
  }
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

function whatIsBad({ holds, isComplete, problems }: VerifiedLog): string | undefined {
  if (!holds)
    return `the log does not verify: ${problems} ${problems === 1 ? 'problem' : 'problems'} (docs/operating/runbooks.md says what to do)`
  return isComplete ? undefined : 'interrupted'
}

async function showKey({ configuration, rawEventStore, box }: Workplace): Promise<string> {
  const { verifierKeyOf } = await import('../operations/audit/verify-log.js')
  return verifierKeyOf(configuration, rawEventStore, box)
}

async function resumePayouts({ eventStore, clock, context }: Workplace, { reason }: { readonly reason: string }) {
  const { IntegrityCommands } = await import('../commands/integrity/integrity-commands.js')
  return new IntegrityCommands(eventStore, clock).resumePayouts(reason, context)
}
