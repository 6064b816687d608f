import type { Command } from 'commander'
import { accepted, defineCommand } from './command.js'
import { integer, option, reason, required } from './options.js'

/** Adds the commands that stop and resume the payment of withdrawals. */
export function addPayoutCommands(program: Command): void {
  const payouts = program.command('payouts').description('stop and resume the payment of withdrawals')
  defineCommand(payouts, 'status', 'whether payouts are stopped, and why', {
    async run({ eventStore, clock }) {
      const { IntegrityCommands } = await import('../commands/integrity/integrity-commands.js')
      const { stoppedSince, stop, findings } = await new IntegrityCommands(eventStore, clock).state()
      return { stoppedSince, stopReason: stop?.reason ?? null, findings }
    },
  })
  defineCommand(payouts, 'stop', 'stop the payment of withdrawals until an operator resumes it', {
    options: { reason: required(option('<text>', 'for auditors', reason)) },
    async run({ eventStore, clock, context }, { reason }) {
      const { IntegrityCommands } = await import('../commands/integrity/integrity-commands.js')
      const { changed } = accepted(await new IntegrityCommands(eventStore, clock).stopPayouts(reason, context))
      return { changed }
    },
  })
  const accepting = 'the number of findings that you have reviewed and accept (default: 0)'
  defineCommand(payouts, 'resume', 'resume the payment of withdrawals', {
    options: {
      reason: required(option('<text>', 'for auditors', reason)),
      acceptFindings: option('<n>', accepting, integer({ min: 0, max: Number.MAX_SAFE_INTEGER })),
    },
    async run({ eventStore, clock, context }, { reason, acceptFindings = 0 }) {
      const { IntegrityCommands } = await import('../commands/integrity/integrity-commands.js')
      const commands = new IntegrityCommands(eventStore, clock)
      const { changed } = accepted(await commands.resumePayouts(reason, acceptFindings, context))
      return { changed }
    },
  })
}
