import { rmSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { BankFileProblem } from '../domain/bank-file.js'
import { refusalText } from '../domain/refusal-texts.js'
import type { Debtor } from '../domain/sepa-debtor.js'
import { targetZone } from '../domain/target-days.js'
import { storedUuid } from '../kernel/uuid.js'
import { writeFileDurably } from '../operations/files/durable-file.js'
import type { CommandStores } from './cli-stores.js'
import { defineCommand } from './command.js'
import { Refused, UsageError } from './failures.js'
import { choice, date, flag, option, path, reason, repeatable, required, type Values } from './options.js'

const maxWithdrawals = 200

/** Banks return the id in capitals, and other programs with the hyphens of a UUID. */
const storedFileId = (text: string) => storedUuid(text).replaceAll('-', '')

const options = {
  format: required(choice('<format>', 'the format of the file', ['csv', 'pain.001'] as const)),
  out: required(option('<file>', 'a new file', path)),
  debtorName: option('<name>', 'pain.001: the owner of the account that pays'),
  debtorIban: option('<iban>', 'pain.001: the account that pays'),
  debtorBic: option('<bic>', 'pain.001: its bank'),
  debtorStreet: option('<street>', 'pain.001: the street of its owner'),
  debtorBuilding: option('<number>', 'pain.001: the number in the street'),
  debtorPostcode: option('<postcode>', 'pain.001: the postcode of its owner'),
  debtorTown: option('<town>', 'pain.001: the town of its owner, required for accounts outside the EEA'),
  debtorCountry: option(
    '<code>',
    'pain.001: the country of its owner, such as DE, required for accounts outside the EEA',
  ),
  date: option('<date>', 'pain.001: the day on which the bank pays; the next TARGET day in Frankfurt if omitted', date),
  repeatReason: option('<reason>', 'why withdrawals that are in a file already are in another one', reason),
  earlierFile: option(
    '<messageId>',
    'with --repeat-reason: a file that contains them already; repeatable',
    repeatable(storedFileId),
  ),
  leaveOut: flag('leave out the withdrawals that cannot be in the file, and make the rest'),
}

export function addBankFileCommand(transfers: Command): void {
  defineCommand(transfers, 'bank-file <trackingIds...>', 'write a file from which a bank pays withdrawals', {
    examples: [
      '7b0f2c1e 19c4a7d0 --format csv --out payouts.csv',
      '7b0f2c1e --format pain.001 --out payouts.xml --debtor-name "Example Ltd" --debtor-iban DE89370400440532013000',
    ],
    options,
    async run(stores, given, trackingIds: readonly string[]) {
      const wanted = [...new Set(trackingIds.map(storedUuid))]
      if (wanted.length > maxWithdrawals) throw new UsageError(`a file has at most ${maxWithdrawals} withdrawals`)
      for (const each of wanted)
        if (!(await stores.transfers.find(each))) throw new Refused('unknown-transfer', `Transfer ${each} not found.`)
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
  const { format, date: day } = given
  if (format === 'csv' && day !== undefined) throw new UsageError('--date requires --format pain.001')
  const repeat = repetitionOf(given)
  const debtor = debtorOf(given)
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  const leftOut: string[] = []
  for (;;) {
    const trackingIds = wanted.filter((each) => !leftOut.includes(each))
    const request = { format, trackingIds, debtor, date: day, timeZone, repeat, underClaim: false }
    const file = await transfers.produceBankFile(request, configuration.currency, context)
    if (file.accepted) {
      const { messageId, date, sha256, text } = file
      const zone = format === 'csv' ? timeZone : targetZone
      return { messageId, date, timeZone: zone, sha256, trackingIds, leftOut, text }
    }
    const texts = file.problems.map(textOf)
    const refused = new Set(file.problems.map((each) => (each.about === 'trackingIds' ? each.transfer.trackingId : '')))
    if (!given.leaveOut || refused.has('') || refused.size === trackingIds.length)
      throw new Refused(file.problems[0]!.rule, texts.join('\n'))
    for (const each of texts) notify(`omitted: ${each}`)
    leftOut.push(...refused)
  }
}

function debtorOf(given: Values<typeof options>): Debtor | undefined {
  const { debtorName: name, debtorIban: iban, debtorBic: bic } = given
  if (name === undefined || iban === undefined) return undefined
  const { debtorStreet: street, debtorBuilding: building, debtorPostcode: postcode } = given
  const { debtorTown: town = '', debtorCountry: country = '' } = given
  const address = { street, building, postcode, town, country }
  return { name, iban, bic, address: Object.values(address).some(Boolean) ? address : undefined }
}

/** @throws UsageError */
function repetitionOf({ repeatReason: reason, earlierFile: files }: Values<typeof options>) {
  if (reason === undefined && files === undefined) return undefined
  if (reason === undefined || files === undefined)
    throw new UsageError('--repeat-reason and --earlier-file need each other')
  return { reason, files }
}

const fields = {
  format: '--format',
  debtor: '--debtor-name with --debtor-iban',
  name: '--debtor-name',
  iban: '--debtor-iban',
  bic: '--debtor-bic',
  street: '--debtor-street',
  building: '--debtor-building',
  postcode: '--debtor-postcode',
  town: '--debtor-town',
  country: '--debtor-country',
  date: '--date',
}

function textOf(problem: BankFileProblem): string {
  if (problem.about !== 'trackingIds') return refusalText(problem, fields[problem.about])
  return `${problem.transfer.trackingId}: ${refusalText(problem)}`
}
