import { type Command, Option } from 'commander'
import { type ApiKey, apiKeyId, keyNameForm, type Scope, scopes, usualScopes } from '../domain/merchant/api-key.js'
import type { Workplace } from './cli-stores.js'
import { accepted, answer, answerList, findMerchant, UsageError } from './command.js'
import { matching, moment, parsed } from './options.js'

interface CreateOptions {
  name: string
  scope?: Scope[]
  expires?: string
}

export function addKeyCommands(merchants: Command): void {
  const keys = merchants.command('keys').description("a merchant's WebApiKeys")
  const create = keys
    .command('create <id>')
    .description('issue a WebApiKey beside those there are; it is shown this once')
    .requiredOption('--name <name>', 'what it is for: 1 to 64 of A-Z a-z 0-9 . _ -', name)
    .addOption(
      new Option(
        '--scope <scope>',
        `what it may be used for: ${scopes.join(', ')}; repeat it for several (default: ${usualScopes.join(', ')})`,
      ).argParser((text, before: Scope[] | undefined) => [...(before ?? []), scope(text)]),
    )
    .option('--expires <time>', 'valid until then (default: until it is revoked)', moment)
  answer(create, createKey)
  answerList(keys.command('list <id>').description('the keys of a merchant, never the keys themselves'), listKeys, {
    columns: () => [
      { head: 'KEY ID', cell: ({ keyId }) => keyId },
      { head: 'SCOPES', cell: ({ scopes }) => scopes },
      { head: 'VALID UNTIL', cell: ({ validUntil }) => validUntil },
      { head: 'CREATED', cell: ({ createdAt }) => createdAt },
      { head: 'NAME', cell: ({ name }) => name },
    ],
    none: 'No keys found.',
  })
  answer(keys.command('revoke <id> <keyId>').description('refuse a key from now on'), revokeKey)
}

/** Nothing that helps to guess the key. */
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

async function createKey({ merchants, clock, context }: Workplace, options: CreateOptions, id: string) {
  const { name, scope: chosen = usualScopes, expires: validUntil = null } = options
  if (validUntil !== null && validUntil <= clock()) throw new UsageError('--expires has passed already')
  const key = { name, scopes: scopes.filter((each) => chosen.includes(each)), validUntil }
  const { webApiKey, sha256 } = accepted(await merchants.createApiKey(id, key, context))
  return { id, keyId: apiKeyId({ sha256 }), ...key, webApiKey }
}

async function listKeys(workplace: Workplace, _options: object, id: string) {
  return (await findMerchant(workplace, id)).apiKeys.map(keyView)
}

async function revokeKey({ merchants, context }: Workplace, _options: object, id: string, keyId: string) {
  const { merchant } = accepted(await merchants.revokeApiKey(id, keyId, context))
  return { id, keyId, keys: merchant.apiKeys.map(keyView) }
}
