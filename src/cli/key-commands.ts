import type { Command } from 'commander'
import type { KeyListed } from '../operations/keys/key-commands.js'
import { defineStandaloneCommand } from './command.js'
import { matching, reason } from './options.js'
import { readable, table } from './readable.js'

export function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('the master keys')
  defineStandaloneCommand(
    keys.command('list').description('the keys, their sources, and the number of secrets that each one seals'),
    async (configuration) => (await import('../operations/keys/key-commands.js')).listKeys(configuration),
    ({ keys: all, unreadable }) => {
      const problems = unreadable.map((place) => `${place} cannot be read: its secrets are not counted\n`)
      return [table(all, columns), ...problems].join('')
    },
  )
  defineStandaloneCommand(
    keys.command('rotate').description('seal all secrets with the current key'),
    async (configuration, context) =>
      (await import('../operations/keys/key-commands.js')).rotateKeys(configuration, context),
    ({ keyId, resealed, unused }) =>
      readable({ keyId, resealed: inWords(resealed), unused: unused.join(', ') || 'none: there is only one key' }),
  )
  const giveUp = keys
    .command('give-up')
    .argument('<keyId>', 'a lost key, as `keys list` prints it', keyId)
    .requiredOption('--reason <text>', 'for auditors', reason)
    .description('continue without a lost key; users, wallet accounts and merchants need new secrets afterwards')
  defineStandaloneCommand(
    giveUp,
    async (configuration, context) => {
      const { giveUpKey } = await import('../operations/keys/key-commands.js')
      const { reason: why } = giveUp.opts<{ reason: string }>()
      return giveUpKey(configuration, String(giveUp.processedArgs[0]), why, context)
    },
    ({ keys: all }) => table(all, columns),
  )
}

const keyId = matching((text) => /^[0-9a-f]{8}$/.test(text), 'It must be 8 hexadecimal digits.')

const columns = [
  { head: 'KEY', cell: (key: KeyListed) => key.keyId },
  { head: 'STATE', cell: (key: KeyListed) => (key.seals ? 'seals' : key.from === null ? 'not given' : 'opens') },
  { head: 'SEALED', cell: (key: KeyListed) => inWords(key.sealed) },
  { head: 'FROM', cell: (key: KeyListed) => key.from },
]

function inWords(sealed: KeyListed['sealed']): string {
  const parts = Object.entries(sealed).map(([of, n]) => `${of}: ${n}`)
  return parts.join(', ') || 'nothing'
}
