import type { Command } from 'commander'
import { answerAlone, UsageError } from './command.js'
import { checkpointIn, contentOf, verifierOf } from './evidence.js'
import { path } from './options.js'
import { readable } from './readable.js'

interface BackUpOptions {
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
    .argument('<target>', 'a directory; where there are backups in it, only what has changed is stored', path)
    .description('copy log, keys of customers, receipts and read models as they fit together, beside a running service')
    .option('--recipient <age1…>', 'encrypt it to this recipient of age; repeat it for several', collected)
    .option('--passphrase-file <file>', 'encrypt it with the passphrase in this file')
  answerAlone(
    backup,
    async (configuration) => {
      const { backUpService } = await import('../operations/backup/backup-commands.js')
      const { recipient: recipients, passphraseFile } = backup.opts<BackUpOptions>()
      if (recipients && passphraseFile !== undefined)
        throw new UsageError('--recipient and --passphrase-file: which of them is meant?')
      const passphrase = passphraseFile === undefined ? undefined : { passphrase: passphraseOf(passphraseFile) }
      return backUpService(configuration, String(backup.processedArgs[0]), recipients ? { recipients } : passphrase)
    },
    ({ notIncluded, ...report }) => `${readable(report)}\nNot in it:\n${lines(notIncluded)}`,
  )
  const restore = program
    .command('restore')
    .argument('<backup>', 'the target of `backup`, for its newest one, or a file in its `sets`', path)
    .description('verify a backup and make a data directory of it')
    .requiredOption('--to <directory>', 'must not be there yet', path)
    .option('--identity-file <file>', 'what age-keygen made, where it is encrypted to recipients')
    .option('--passphrase-file <file>', 'the passphrase it is encrypted with')
    .option('--checkpoint <file>', 'a checkpoint from outside: tells how many events are lost')
    .option('--key <verifier key>', 'as `audit key` printed it: refuse what it has not signed')
  answerAlone(
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
    throw new UsageError('--identity-file and --passphrase-file: which of them is meant?')
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
