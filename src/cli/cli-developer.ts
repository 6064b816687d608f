import type { Command } from 'commander'
import { type ScenarioName, scenarioNames } from '../domain/scenarios.js'
import { statusCodes } from '../domain/transfer/status.js'
import { defineBareCommand } from './command.js'
import { accessOptions, amount, choices, flag, integer, kebabCase, option, secretKeyOption, url } from './options.js'

/** Adds the commands for developers of a merchant's program. They call the API with the merchant's key, from any machine. */
export function addDeveloperCommands(program: Command): void {
  defineBareCommand(program, 'listen', "print a sandbox merchant's callbacks as they happen, and forward them", {
    examples: ['--forward-to http://127.0.0.1:4000/callbacks', '--only completed,cancelled --print-json'],
    notes:
      '\nRuns until SIGTERM or SIGINT. It does not change the endpoint, to which the service sends callbacks as usual.',
    options: {
      forwardTo: option('<url>', 'send each callback to this program, with its original headers', url),
      only: choices('<status,...>', 'only callbacks about these statuses', Object.keys(statusCodes).map(kebabCase)),
      printJson: flag('print each callback as one line of JSON'),
      merchant: option('<id>', 'this merchant of the log in this directory, with a key that is revoked at the end'),
      ...accessOptions,
      webhookSecret: option(
        '<secret>',
        'verify signatures with it (default: TRANSFERD_WEBHOOK_SECRET, or that of the sandbox)',
      ),
    },
    async run(parts, options) {
      const { listen } = await import('./listen.js')
      await listen(parts, options)
    },
  })
  defineBareCommand(program, 'trigger <scenario>', 'play a transfer of a sandbox merchant to an end', {
    examples: ['completed', 'late-money --json'],
    args: { scenario: { choices: scenarioNames } },
    options: {
      amount: option('<amount>', 'the requested amount (default: that of the scenario)', amount),
      paymentMethod: option('<code>', 'the payment method (default: 1)', integer({ min: 1, max: 999_999 })),
      ...accessOptions,
      secretKey: secretKeyOption,
    },
    async run({ write }, options, scenario: string) {
      const { accessOf } = await import('./merchant-api.js')
      const { trigger } = await import('./trigger.js')
      // JSON is one document, which contains the steps.
      const show = options.output === 'json' ? () => undefined : write
      return trigger(scenario as ScenarioName, await accessOf(options), options, show)
    },
    text: ({ text }) => text,
    json: ({ text: _, ...document }) => document,
  })
}
