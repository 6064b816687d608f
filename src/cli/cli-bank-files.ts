import { rmSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { refusalText } from '../commands/refusal-texts.js'
import type { BankFileProblem } from '../domain/bank-file.js'
import { storedUuid } from '../kernel/uuid.js'
import { writeFileDurably } from '../operations/files/durable-file.js'
import type { CommandStores } from './cli-stores.js'
import { defineCommand, Refused, UsageError } from './command.js'
import { choice, flag, option, path, reason, repeatable, required, type Values } from './options.js'

const maxWithdrawals = 200

const options = {
  format: required(choice('<format>', 'the format of the file', ['csv', 'pain.001'] as const)),
  out: required(option('<file>', 'a new file', path)),
  debtorName: option('<name>', 'pain.001: the owner of the account that pays'),
  debtorIban: option('<iban>', 'pain.001: the account that pays'),
  debtorBic: option('<bic>', 'pain.001: its bank'),
  again: option('<reason>', 'why withdrawals that are in a file already are in another one', reason),
  earlierFile: option('<messageId>', 'with --again: a file that contains them already; repeatable', repeatable()),
  leaveOut: flag('leave out the withdrawals that cannot be in the file, and make the rest'),
}

export function addBankFileCommand(transfers: Command): void {
  defineCommand(transfers, 'bank-file <trackingIds...>', 'write a file from which a bank pays withdrawals', {
    options,
    async run(stores, given, trackingIds: readonly string[]) {
      const wanted = [...new Set(trackingIds.map(storedUuid))]
      if (wanted.length > maxWithdrawals) throw new UsageError(`a file has at most ${maxWithdrawals} withdrawals`)
      for (const each of wanted)
        if (!(await stores.transfers.find(each))) throw new Refused(`Transfer ${each} not found.`)
      // Fails before anything is recorded if the file exists or cannot be written.
      writeFileSync(given.out, '', { flag: 'wx', mode: 0o600 })
      try {
        const { text, ...produced } = await produce(stores, given, wanted)
        writeFileDurably(given.out, text)
        return { file: given.out, ...produced }
      } catch (error) {
        rmSync(given.out, { force: true })
        throw error
      }
    },
  })
}

/** @throws Refused that names every problem */
async function produce(stores: CommandStores, given: Values<typeof options>, wanted: readonly string[]) {
  const { transfers, configuration, context, notify } = stores
  const { format, debtorName: name, debtorIban: iban, debtorBic: bic } = given
  const again = againOf(given)
  const debtor = name === undefined || iban === undefined ? undefined : { name, iban, bic }
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  const leftOut: string[] = []
  for (;;) {
    const trackingIds = wanted.filter((each) => !leftOut.includes(each))
    const request = { format, trackingIds, debtor, timeZone, again, underClaim: false }
    const file = await transfers.produceBankFile(request, configuration.currency, context)
    if (file.accepted) {
      const { messageId, date, sha256, text } = file
      return { messageId, date, timeZone, sha256, trackingIds, leftOut, text }
    }
    const texts = file.problems.map(textOf)
    const refused = new Set(file.problems.map((each) => (each.about === 'trackingIds' ? each.transfer.trackingId : '')))
    if (!given.leaveOut || refused.has('') || refused.size === trackingIds.length) throw new Refused(texts.join('\n'))
    for (const each of texts) notify(`omitted: ${each}`)
    leftOut.push(...refused)
  }
}

/** @throws UsageError */
function againOf({ again: reason, earlierFile: files }: Values<typeof options>) {
  if (reason === undefined && files === undefined) return undefined
  if (reason === undefined || files === undefined) throw new UsageError('--again and --earlier-file need each other')
  return { reason, files }
}

const fields = {
  format: '--format',
  debtor: '--debtor-name with --debtor-iban',
  name: '--debtor-name',
  iban: '--debtor-iban',
  bic: '--debtor-bic',
}

function textOf(problem: BankFileProblem): string {
  if (problem.about !== 'trackingIds') return refusalText(problem, fields[problem.about])
  return `${problem.transfer.trackingId}: ${refusalText(problem)}`
}
