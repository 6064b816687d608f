import type { Command } from 'commander'
import type { RestoreReport } from '../operations/backup/backup-commands.js'
import type { KeyListed } from '../operations/keys/key-commands.js'
import { checkpointIn, contentOf, verifierOf } from './audit-proofs.js'
import { defineStandaloneCommand } from './command.js'
import { UsageError } from './failures.js'
import { amountText } from './listing.js'
import { flag, matching, option, path, reason, repeatable, required } from './options.js'
import { type Columns, cell, readable, shortId, table } from './readable.js'

export function addMasterKeyCommands(program: Command): void {
  const keys = program.command('master-keys').description('list, rotate and give up master keys')
  const listing = 'the keys, their sources, and the number of secrets that each one seals'
  defineStandaloneCommand(keys, 'list', listing, {
    examples: ['', '--json'],
    async run({ configuration }) {
      const { keys: items, unreadable } = await (await import('../operations/keys/key-commands.js')).listKeys(
        configuration,
      )
      return { items, unreadable }
    },
    json: ({ items: keys, unreadable }) => ({ keys, unreadable }),
    list: { columns: { keyId: {}, seals: {}, sealed: {}, from: {} }, none: 'No keys found.' },
    text({ items: all, unreadable }) {
      const problems = unreadable.map((place) => `${place} cannot be read: its secrets are not counted\n`)
      return [table(all, columns), ...problems].join('')
    },
  })
  defineStandaloneCommand(keys, 'rotate', 'seal all secrets with the current key', {
    examples: ['', '--json'],
    run: async ({ configuration, context }) =>
      (await import('../operations/keys/key-commands.js')).rotateKeys(configuration, context),
    text: ({ keyId, resealed, unused }) =>
      readable({ keyId, resealed: sealedText(resealed), unused: unused.join(', ') || 'none: there is only one key' }),
  })
  const givingUp = 'continue without a lost key; users, wallet accounts and merchants need new secrets afterwards'
  const keyId = matching((text) => /^[0-9a-f]{8}$/.test(text), 'It must be 8 hexadecimal digits.')
  defineStandaloneCommand(keys, 'give-up <keyId>', givingUp, {
    examples: [
      '3f2a91c0 --reason "disk of the vault lost, ticket 204"',
      '3f2a91c0 --reason "disk of the vault lost, ticket 204" --yes',
    ],
    args: { keyId: { description: 'a lost key, as `master-keys list` prints it', parse: keyId } },
    options: { reason: required(option('<text>', 'for auditors', reason)) },
    confirmation: {
      question: (_, __, lost: string) => ({
        effect: `Everything that the key ${lost} seals is lost, even if the key is found later: users, wallet accounts and merchants need new secrets.`,
        word: lost,
      }),
    },
    run: async ({ configuration, context }, { reason }, lost: string) =>
      (await import('../operations/keys/key-commands.js')).giveUpKey(configuration, lost, reason, context),
    text: ({ keys: all }) => table(all, columns),
  })
}

const columns: Columns<KeyListed> = {
  KEY: 'keyId',
  STATE: ({ seals, from }) => (seals ? 'seals' : from === null ? 'not given' : 'opens'),
  SEALED: ({ sealed }) => sealedText(sealed),
  FROM: 'from',
}

function sealedText(sealed: KeyListed['sealed']): string {
  const parts = Object.entries(sealed).map(([of, n]) => `${of}: ${n}`)
  return parts.join(', ') || 'nothing'
}

type Payable = NonNullable<RestoreReport['payable']>

export function addBackupCommands(program: Command): void {
  const copying = "back up the log, its tree, customers' keys and receipts, also while the service runs"
  const where = 'a directory; if it contains backups, only new content is stored'
  defineStandaloneCommand(program, 'backup <target>', copying, {
    examples: ['/backup/transferd', '/backup/transferd --passphrase-file /etc/transferd/passphrase --with-read-models'],
    args: { target: { description: where, parse: path } },
    options: {
      withReadModels: flag('include the lists, which a service otherwise rebuilds after a restore'),
      recipient: option('<age1…>', 'encrypt to this age recipient; repeatable', repeatable()),
      passphraseFile: option('<file>', 'encrypt with the passphrase in this file'),
    },
    async run({ configuration }, { recipient: recipients, passphraseFile, withReadModels = false }, target: string) {
      const { backUpService } = await import('../operations/backup/backup-commands.js')
      if (recipients && passphraseFile !== undefined)
        throw new UsageError('--recipient and --passphrase-file cannot be combined')
      const passphrase = passphraseFile === undefined ? undefined : { passphrase: passphraseOf(passphraseFile) }
      return backUpService(configuration, target, {
        encryptTo: recipients ? { recipients } : passphrase,
        withReadModels,
      })
    },
    text: ({ notIncluded, problems, ...report }) =>
      `${readable(report)}\nNot included:\n${lines(notIncluded)}${problems.length > 0 ? `\nProblems:\n${lines(problems)}` : ''}`,
    finding: ({ problems }) =>
      problems.length > 0 ? 'the backup was created, but the log does not verify (transferd audit verify)' : undefined,
  })
  const source = 'the target of `backup`, for its newest backup, or a file in its `sets`'
  defineStandaloneCommand(program, 'restore <backup>', 'verify a backup and create a data directory from it', {
    examples: [
      '/backup/transferd --to ./data',
      '/backup/transferd --to ./data --passphrase-file passphrase --checkpoint checkpoint-october',
    ],
    args: { backup: { description: source, parse: path } },
    options: {
      to: required(option('<directory>', 'must not exist yet', path)),
      identityFile: option('<file>', 'the output of age-keygen, for a backup that is encrypted to recipients'),
      passphraseFile: option('<file>', 'the passphrase that the backup is encrypted with'),
      checkpoint: option('<file>', 'a checkpoint that was kept elsewhere, to count the lost events'),
      key: option('<verifier key>', 'as `audit key` printed it: refuse anything that it has not signed'),
      unverified: flag('restore a backup that does not verify, or without the master key'),
    },
    async run(
      { configuration },
      { to, checkpoint, key, identityFile, passphraseFile, unverified = false },
      backup: string,
    ) {
      const { restoreService } = await import('../operations/backup/backup-commands.js')
      if (key !== undefined) await verifierOf(key)
      if (checkpoint !== undefined) await checkpointIn(checkpoint)
      const openWith = openedWith(identityFile, passphraseFile)
      return restoreService(configuration, backup, { to, checkpoint, key, openWith, unverified })
    },
    text: ({ notes, payable, ...report }) =>
      `${readable(report)}\n${lines(notes)}${payable ? `\n${payableText(payable)}` : ''}`,
  })
}

const maxShown = 20

function payableText({ count, sum, currency, withdrawals, unreadable }: Payable): string {
  const columns: Columns<Payable['withdrawals'][number]> = {
    ID: ({ trackingId }) => shortId(trackingId),
    MERCHANT: ({ merchantId }) => shortId(merchantId),
    AMOUNT: { cell: ({ amount }) => amountText(amount, currency), align: 'right' },
    STATUS: 'status',
    CREATED: 'createdAt',
    'BANK FILE': ({ bankFile }) => bankFile?.slice(0, 8),
    REFERENCE: 'referenceId',
  }
  const shown = withdrawals.slice(0, maxShown)
  return [
    `Payable at the end of the backup: ${count === 1 ? '1 withdrawal' : `${count} withdrawals`}, ${amountText(sum, currency)}.\n`,
    count > 0 ? table(shown, columns) : '',
    count > maxShown ? `The first ${maxShown} of ${count}: --json lists all of them.\n` : '',
    unreadable.length > 0 ? `Unreadable, and possibly payable: ${cell(unreadable.slice(0, maxShown))}\n` : '',
  ].join('')
}

function openedWith(identityFile: string | undefined, passphraseFile: string | undefined) {
  if (identityFile !== undefined && passphraseFile !== undefined)
    throw new UsageError('--identity-file and --passphrase-file cannot be combined')
  if (passphraseFile !== undefined) return { passphrase: passphraseOf(passphraseFile) }
  if (identityFile === undefined) return undefined
  const identities = contentOf(identityFile)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  return { identities }
}

function passphraseOf(file: string): string {
  const passphrase = contentOf(file).replace(/\r?\n$/, '')
  if (passphrase === '') throw new UsageError(`${file} is empty`)
  return passphrase
}

function lines(sentences: readonly string[]): string {
  return sentences.map((sentence) => `  ${cell(sentence)}\n`).join('')
}
