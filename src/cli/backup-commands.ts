import type { Command } from 'commander'
import { checkpointIn, contentOf, verifierOf } from './checkpoint-files.js'
import { defineStandaloneCommand, UsageError } from './command.js'
import { path } from './options.js'
import { readable } from './readable.js'

interface BackUpOptions {
  readonly withReadModels?: boolean
  readonly recipient?: readonly string[]
  readonly passphraseFile?: string
}

interface RestoreOptions {
  readonly to: string
  readonly identityFile?: string
  readonly passphraseFile?: string
  readonly checkpoint?: string
  readonly key?: string
}

export function addBackupCommands(program: Command): void {
  const backup = program
    .command('backup')
    .argument('<target>', 'a directory; if it contains backups, only new content is stored', path)
    .description("back up the log, its tree, customers' keys and receipts, also while the service runs")
    .option('--with-read-models', 'include the lists, which a service otherwise rebuilds after a restore')
    .option('--recipient <age1…>', 'encrypt to this age recipient; repeatable', collected)
    .option('--passphrase-file <file>', 'encrypt with the passphrase in this file')
  defineStandaloneCommand(
    backup,
    async (configuration) => {
      const { backUpService } = await import('../operations/backup/backup-commands.js')
      const { recipient: recipients, passphraseFile, withReadModels = false } = backup.opts<BackUpOptions>()
      if (recipients && passphraseFile !== undefined)
        throw new UsageError('--recipient and --passphrase-file cannot be combined')
      const passphrase = passphraseFile === undefined ? undefined : { passphrase: passphraseOf(passphraseFile) }
      const encryptTo = recipients ? { recipients } : passphrase
      return backUpService(configuration, String(backup.processedArgs[0]), { encryptTo, withReadModels })
    },
    ({ notIncluded, ...report }) => `${readable(report)}\nNot included:\n${lines(notIncluded)}`,
  )
  const restore = program
    .command('restore')
    .argument('<backup>', 'the target of `backup`, for its newest backup, or a file in its `sets`', path)
    .description('verify a backup and create a data directory from it')
    .requiredOption('--to <directory>', 'must not exist yet', path)
    .option('--identity-file <file>', 'the output of age-keygen, for a backup that is encrypted to recipients')
    .option('--passphrase-file <file>', 'the passphrase that the backup is encrypted with')
    .option('--checkpoint <file>', 'a checkpoint that was kept elsewhere, to count the lost events')
    .option('--key <verifier key>', 'as `audit key` printed it: refuse anything that it has not signed')
  defineStandaloneCommand(
    restore,
    async (configuration) => {
      const { restoreService } = await import('../operations/backup/backup-commands.js')
      const { to, checkpoint, key, ...files } = restore.opts<RestoreOptions>()
      if (key !== undefined) await verifierOf(key)
      if (checkpoint !== undefined) await checkpointIn(checkpoint)
      const options = { to, checkpoint, key, openWith: openWith(files) }
      return restoreService(configuration, String(restore.processedArgs[0]), options)
    },
    ({ notes, ...report }) => `${readable(report)}\n${lines(notes)}`,
  )
}

function openWith({ identityFile, passphraseFile }: Pick<RestoreOptions, 'identityFile' | 'passphraseFile'>) {
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

function collected(recipient: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), recipient]
}

function lines(sentences: readonly string[]): string {
  return sentences.map((sentence) => `  ${sentence}\n`).join('')
}
