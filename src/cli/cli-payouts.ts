import type { Command } from 'commander'
import { accepted, defineCommand } from './command.js'
import { option, reason, required, seenRevision } from './options.js'

/** Adds the commands that stop and resume the payment of withdrawals. */
export function addPayoutCommands(program: Command): void {
  const payouts = program.command('payouts').description('stop and resume the payment of withdrawals')
  defineCommand(payouts, 'status', 'whether payouts are stopped, and why', {
    examples: ['--watch', '--json'],
    watch: true,
    async run({ eventStore, clock }) {
      const { IntegrityCommands } = await import('../commands/integrity/integrity-commands.js')
      const { state, revision } = await new IntegrityCommands(eventStore, clock).read()
      const { stoppedSince, stop, restored, findings } = state
      return {
        stoppedSince,
        stopReason: stop?.reason ?? null,
        restored,
        findings,
        revision: revision === 'no_stream' ? null : revision,
      }
    },
  })
  defineCommand(payouts, 'stop', 'stop the payment of withdrawals until an operator resumes it', {
    examples: ['--reason "suspicious withdrawals, ticket 204"', '--reason "bank is closed" --json'],
    options: { reason: required(option('<text>', 'for auditors', reason)) },
    async run({ eventStore, clock, context }, { reason }) {
      const { IntegrityCommands } = await import('../commands/integrity/integrity-commands.js')
      const { changed } = accepted(await new IntegrityCommands(eventStore, clock).stopPayouts(reason, context))
      return { changed }
    },
  })
  defineCommand(payouts, 'resume', 'resume the payment of withdrawals', {
    examples: [
      '--reason "compared with the bank" --revision 3',
      '--reason "findings explained, ticket 204" --revision 0 --json',
    ],
    options: {
      reason: required(option('<text>', 'for auditors', reason)),
      revision: required(option('<n>', 'the `revision` of the status that you have reviewed', seenRevision)),
    },
    async run({ eventStore, clock, context }, { reason, revision }) {
      const { IntegrityCommands } = await import('../commands/integrity/integrity-commands.js')
      const commands = new IntegrityCommands(eventStore, clock)
      const { changed } = accepted(await commands.resumePayouts(reason, revision, context))
      return { changed }
    },
  })
}
