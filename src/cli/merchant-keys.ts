import { type Command, Option } from 'commander'
import { type ApiKey, apiKeyId, keyNameForm, type Scope, scopes, usualScopes } from '../domain/merchant/api-key.js'
import type { CommandStores } from './cli-stores.js'
import { accepted, defineCommand, defineListCommand, findMerchant, UsageError } from './command.js'
import { matching, parsed, time } from './options.js'

interface CreateOptions {
  name: string
  scope?: Scope[]
  expires?: string
}

export function addKeyCommands(merchants: Command): void {
  const keys = merchants.command('keys').description("a merchant's WebApiKeys")
  const create = keys
    .command('create <id>')
    .description('issue an additional WebApiKey, which is shown only once')
    .requiredOption('--name <name>', '1 to 64 characters of A-Z a-z 0-9 . _ -', name)
    .addOption(
      new Option('--scope <scope>', `${scopes.join(', ')}; repeatable (default: ${usualScopes.join(', ')})`).argParser(
        (text, before: Scope[] | undefined) => [...(before ?? []), scope(text)],
      ),
    )
    .option('--expires <time>', 'valid until this time (default: until it is revoked)', time)
  defineCommand(create, createKey)
  defineListCommand(keys.command('list <id>').description('the keys of a merchant, without their values'), listKeys, {
    columns: () => [
      { head: 'KEY ID', cell: ({ keyId }) => keyId },
      { head: 'SCOPES', cell: ({ scopes }) => scopes },
      { head: 'VALID UNTIL', cell: ({ validUntil }) => validUntil },
      { head: 'CREATED', cell: ({ createdAt }) => createdAt },
      { head: 'NAME', cell: ({ name }) => name },
    ],
    emptyText: 'No keys found.',
  })
  defineCommand(keys.command('revoke <id> <keyId>').description('reject a key from now on'), revokeKey)
}

/** Omits everything that helps to guess the key. */
export function keyView(key: ApiKey) {
  return {
    keyId: apiKeyId(key),
    name: key.name,
    scopes: key.scopes,
    validUntil: key.validUntil,
    createdAt: key.createdAt,
  }
}

const name = matching((text) => keyNameForm.test(text), 'It must be 1 to 64 of A-Z a-z 0-9 . _ -.')
const scope = parsed((text) => scopes.find((each) => each === text), `Allowed choices are ${scopes.join(', ')}.`)

async function createKey({ merchants, clock, context }: CommandStores, options: CreateOptions, id: string) {
  const { name, scope: chosen = usualScopes, expires: validUntil = null } = options
  if (validUntil !== null && validUntil <= clock()) throw new UsageError('--expires is in the past')
  const key = { name, scopes: scopes.filter((each) => chosen.includes(each)), validUntil }
  const { webApiKey, sha256 } = accepted(await merchants.createApiKey(id, key, context))
  return { id, keyId: apiKeyId({ sha256 }), ...key, webApiKey }
}

async function listKeys(stores: CommandStores, _options: object, id: string) {
  return (await findMerchant(stores, id)).apiKeys.map(keyView)
}

async function revokeKey({ merchants, context }: CommandStores, _options: object, id: string, keyId: string) {
  const { merchant } = accepted(await merchants.execute(id, { type: 'RevokeApiKey', keyId }, context))
  return { id, keyId, keys: merchant.apiKeys.map(keyView) }
}
