import type { Command } from 'commander'
import { type ApiKey, apiKeyId, keyNameForm, scopes, usualScopes } from '../domain/merchant/api-key.js'
import { accepted, defineCommand, findMerchant, UsageError } from './command.js'
import { matching, option, parsed, repeatable, required, time } from './options.js'

const keyName = matching((text) => keyNameForm.test(text), 'It must be 1 to 64 of A-Z a-z 0-9 . _ -.')
const oneScope = parsed((text) => scopes.find((each) => each === text), `Allowed choices are ${scopes.join(', ')}.`)
const scopeDescription = `${scopes.join(', ')}; repeatable (default: ${usualScopes.join(', ')})`

export function addKeyCommands(merchants: Command): void {
  const keys = merchants.command('keys').description("a merchant's WebApiKeys")
  defineCommand(keys, 'create <id>', 'issue an additional WebApiKey, which is shown only once', {
    options: {
      name: required(option('<name>', '1 to 64 characters of A-Z a-z 0-9 . _ -', keyName)),
      scope: option('<scope>', scopeDescription, repeatable(oneScope)),
      expires: option('<time>', 'valid until this time (default: until it is revoked)', time),
    },
    async run({ merchants, clock, context }, options, id: string) {
      const { name, scope: chosen = usualScopes, expires: validUntil = null } = options
      if (validUntil !== null && validUntil <= clock()) throw new UsageError('--expires is in the past')
      const key = { name, scopes: scopes.filter((each) => chosen.includes(each)), validUntil }
      const { webApiKey, sha256 } = accepted(await merchants.createApiKey(id, key, context))
      return { id, keyId: apiKeyId({ sha256 }), ...key, webApiKey }
    },
  })
  defineCommand(keys, 'list <id>', 'the keys of a merchant, without their values', {
    run: async (stores, _, id: string) => (await findMerchant(stores, id)).apiKeys.map(keyView),
    list: {
      columns: { 'KEY ID': 'keyId', SCOPES: 'scopes', 'VALID UNTIL': 'validUntil', CREATED: 'createdAt', NAME: 'name' },
      none: 'No keys found.',
    },
  })
  defineCommand(keys, 'revoke <id> <keyId>', 'reject a key from now on', {
    async run({ merchants, context }, _, id: string, keyId: string) {
      const { merchant } = accepted(await merchants.execute(id, { type: 'RevokeApiKey', keyId }, context))
      return { id, keyId, keys: merchant.apiKeys.map(keyView) }
    },
  })
}

/** Omits everything that helps to guess the key. */
export function keyView(key: ApiKey) {
  const { name, scopes, validUntil, createdAt } = key
  return { keyId: apiKeyId(key), name, scopes, validUntil, createdAt }
}
