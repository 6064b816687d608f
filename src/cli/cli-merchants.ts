import { type Command, InvalidArgumentError } from 'commander'
import { rangeProblem } from '../commands/merchant/addresses.js'
import type { CallbackNetworks } from '../commands/merchant/callback-networks.js'
import { changeMerchantSettings, settingsRefusal } from '../commands/merchant/settings-changes.js'
import { violate } from '../domain/decider.js'
import { type ApiKey, apiKeyId, keyNameForm, scopes, usualScopes } from '../domain/merchant/api-key.js'
import { callbackSecretKey, type Merchant } from '../domain/merchant/merchant.js'
import type { MerchantSettings } from '../domain/merchant/merchant-events.js'
import {
  defaultSettings,
  depositExpiryMinutes,
  type EndpointWarning,
  maxLimitCount,
  maxNameLength,
  maxWalletExpiryMinutes,
  overlapMinutes,
  rateLimitPerSecond,
  signedCreates,
} from '../domain/merchant/merchant-settings.js'
import { formatTwoDecimals, toJsonNumber } from '../domain/money.js'
import { refusalText } from '../domain/refusal-texts.js'
import type { WithdrawalLimit } from '../domain/withdrawal-limits.js'
import { limitScopes } from '../domain/withdrawal-limits.js'
import { pageOfAll, positionOfId } from '../queries/list-page.js'
import type { CommandStores } from './cli-stores.js'
import { accepted, defineCommand, findMerchant } from './command.js'
import type { Question } from './confirmation.js'
import { Refused, UsageError } from './failures.js'
import { columnsOnlyIn } from './listing.js'
import {
  amount,
  choice,
  cursor,
  defaulting,
  flag,
  flagOf,
  integer,
  matching,
  type OptionOf,
  option,
  pageOptions,
  parsed,
  repeatable,
  required,
  text,
  time,
  tolerance,
  visible,
} from './options.js'
import { age, cell, readable } from './readable.js'

type Setting = keyof MerchantSettings

const name = option('<name>', 'shown to customers', text(maxNameLength))
const callbackUrl = option('<url>', 'the address for status callbacks', visible)
const expiry = `time to finish a deposit, ${depositExpiryMinutes.min} to ${depositExpiryMinutes.max}; ${maxWalletExpiryMinutes} at most apply to a wallet`
const limits =
  'more withdrawals need a second person, such as "account 24h 5 2000.00" or "merchant 30d 100 -"; repeatable'
const instructions = 'the payment instructions for a manual payment method; repeatable'
const settingOptions = {
  name,
  callbackUrl,
  allowIp: option('<cidr>', 'an allowed address or range; repeatable', repeatable(range)),
  sandbox: flag('a test merchant, which can use plain http, and loopback until a live merchant exists'),
  autoCancelMismatch: flag('cancel deposits whose amount differs'),
  mismatchTolerance: option('<amount>', 'the largest difference that is not a mismatch', tolerance),
  manualControlAbove: option('<amount>', 'larger deposits need manual review', amount),
  approvalAbove: option('<amount>', 'larger withdrawals and corrections need a second person', amount),
  approvalOverDay: flag('--approval-above also applies to the sum of 24 hours'),
  withdrawalLimit: option('<limit>', limits, repeatable(withdrawalLimit)),
  rateLimit: option('<per second>', 'requests per second', integer(rateLimitPerSecond)),
  depositExpiryMinutes: option('<n>', expiry, integer(depositExpiryMinutes)),
  minAmount: option('<amount>', 'smallest amount of a transfer', amount),
  maxAmount: option('<amount>', 'largest amount of a transfer', amount),
  requireNativeHash: flag('reject native deposits without a hashCode'),
  callbackOnCreate: flag('also send a callback for the creation'),
  callbackOnMoney: flag('also send a callback for money that is returned to a customer or comes back'),
  returnUrl: option('<url>', 'the address to which the payment page returns the customer', visible),
  frameAncestor: option('<origin>', 'an origin that can embed the payment page; repeatable', repeatable()),
  instructions: option('<code=text>', instructions, repeatable(instruction)),
  requireSignature: signatureOption(),
  noRequireSignature: flag('accept all requests without X-Signature'),
}

/** The settings whose options have different names. */
const settingNames: { readonly [option: string]: Setting } = {
  allowIp: 'allowIps',
  mismatchTolerance: 'mismatchToleranceMinor',
  manualControlAbove: 'manualControlAboveMinor',
  approvalAbove: 'approvalAboveMinor',
  withdrawalLimit: 'withdrawalLimits',
  rateLimit: 'rateLimitPerSecond',
  minAmount: 'minAmountMinor',
  maxAmount: 'maxAmountMinor',
  frameAncestor: 'frameAncestors',
  instructions: 'paymentInstructions',
}

/** The options whose `--no-…` form resets the setting, with the value that it then has. */
const resets: { readonly [option: string]: readonly [description: string, value: unknown] } = {
  allowIp: ['no address is allowed', []],
  sandbox: ['a live merchant', false],
  autoCancelMismatch: ['complete deposits whose amount differs', false],
  manualControlAbove: ['complete deposits of any amount', null],
  approvalAbove: ['no withdrawal or correction needs a second person', null],
  approvalOverDay: ['--approval-above applies to single withdrawals', false],
  withdrawalLimit: ['no limits over a period', []],
  requireNativeHash: ['accept native deposits without a hashCode', false],
  callbackOnCreate: ['no callback for the creation', false],
  callbackOnMoney: ['no callback for returned money', false],
  returnUrl: ['no return address', null],
  frameAncestor: ['no origin can embed the payment page', []],
  instructions: ['the payment page refers customers to the merchant', []],
}
const resetOptions = Object.fromEntries(
  Object.entries(resets).map(([name, [description]]) => [
    `no${name[0]?.toUpperCase()}${name.slice(1)}`,
    flag(description),
  ]),
)

const overlapOption = option(
  '<n>',
  'how long the previous value stays valid; 0 revokes it immediately',
  integer(overlapMinutes),
)
const overlap = { overlapMinutes: defaulting(overlapMinutes.usual, overlapOption) }

export function addMerchantCommands(program: Command): void {
  const merchants = program.command('merchants').description('create and change merchants')
  defineCommand(merchants, 'create', 'create a merchant; its credentials are shown only once', {
    examples: [
      '--name Shop --callback-url https://shop.example/callbacks --allow-ip 203.0.113.7',
      '--name "Test shop" --callback-url http://127.0.0.1:8080/callbacks --sandbox',
    ],
    log: 'may be new',
    options: { ...settingOptions, name: required(name), callbackUrl: required(callbackUrl) },
    run: createMerchant,
  })
  defineCommand(merchants, 'show <id>', 'show the settings and the state of a merchant', {
    examples: ['f5ebe0d2', 'f5ebe0d2 --json'],
    run: async (stores, _, id: string) => merchantView(await findMerchant(stores, id)),
  })
  defineCommand(merchants, 'list', 'all merchants, newest first', {
    examples: ['', '--limit 1000 --json'],
    options: pageOptions(cursor),
    async run(stores, options) {
      const keyOf = ({ createdAt, merchantId }: Merchant) => ({ at: createdAt, position: positionOfId(merchantId) })
      const { items, nextCursor } = pageOfAll(await stores.allMerchants(), options, keyOf)
      return { items: items.map(merchantView), nextCursor }
    },
    list: {
      columns: {
        id: {},
        suspended: {
          head: 'STATE',
          cell: ({ suspended, sandbox }) => (suspended ? 'suspended' : sandbox ? 'sandbox' : 'live'),
        },
        callbacksDisabled: {
          head: 'CALLBACKS',
          cell: ({ callbacksDisabled }) => (callbacksDisabled === null ? 'enabled' : 'disabled'),
        },
        createdAt: { head: 'AGE', short: ({ createdAt }) => age(createdAt), align: 'right' },
        name: { max: 34 },
        ...columnsOnlyIn('wide and csv', 'callbackUrl', 'allowIps', 'requireSignature', 'rateLimitPerSecond'),
        ...columnsOnlyIn('csv', 'sandbox', 'autoCancelMismatch', 'mismatchTolerance', 'manualControlAbove'),
        ...columnsOnlyIn('csv', 'approvalAbove', 'proposedThreshold', 'depositExpiryMinutes', 'minAmount', 'maxAmount'),
        ...columnsOnlyIn('csv', 'approvalOverDay', 'withdrawalLimits'),
        ...columnsOnlyIn('csv', 'requireNativeHash', 'callbackOnCreate', 'callbackOnMoney'),
        ...columnsOnlyIn('csv', 'returnUrl', 'frameAncestors'),
        ...columnsOnlyIn('csv', 'paymentInstructions', 'keys', 'previousSecretKeyValidUntil'),
        ...columnsOnlyIn('csv', 'callbacksHashedWithPreviousUntil', 'previousWebhookSecretValidUntil'),
      },
      none: 'No merchants found.',
    },
  })
  defineCommand(merchants, 'set <id>', 'change settings; omitted settings stay unchanged', {
    examples: [
      'f5ebe0d2 --allow-ip 203.0.113.0/24 --approval-above 5000',
      'f5ebe0d2 --no-approval-above --mismatch-tolerance 0.50',
    ],
    options: { ...settingOptions, ...resetOptions },
    run: changeSettings,
    json: changedMerchant,
    text: changesText,
  })
  defineCommand(merchants, 'rotate-key <id>', 'issue a new main WebApiKey', {
    examples: ['f5ebe0d2', 'f5ebe0d2 --overlap-minutes 0 --yes'],
    options: overlap,
    confirmation: {
      when: ({ overlapMinutes }) => overlapMinutes === 0,
      question: (stores, _, id: string) =>
        merchantQuestion(stores, id, (name) => `The current main WebApiKey of ${name} stops working immediately.`),
    },
    async run({ merchants, context }, { overlapMinutes }, id: string) {
      const { webApiKey } = accepted(await merchants.rotateApiKey(id, overlapMinutes, context))
      return { id, webApiKey }
    },
  })
  addKeyCommands(merchants)
  const secrets = ['secretKey', 'webhookSecret'] as const
  defineCommand(merchants, 'rotate-secret <id>', 'issue new secrets', {
    examples: ['f5ebe0d2 --only webhookSecret', 'f5ebe0d2 --overlap-minutes 60 --yes'],
    options: { only: choice('<secret>', 'rotate only this secret', secrets), ...overlap },
    confirmation: {
      question: (stores, { only, overlapMinutes: minutes }, id: string) => {
        const stop = minutes === 0 ? 'immediately' : `in ${minutes} minutes`
        const which = only ? `${only} stops` : 'secretKey and webhookSecret stop'
        return merchantQuestion(
          stores,
          id,
          (name) => `The current ${which} working ${stop}. ${name} must use the new one.`,
        )
      },
    },
    async run({ merchants, context }, { only, overlapMinutes }, id: string) {
      const rotated: { id: string; secretKey?: string; webhookSecret?: string } = { id }
      for (const secret of only ? [only] : secrets)
        rotated[secret] = accepted(await merchants.rotateSecret(id, secret, overlapMinutes, context)).value
      return rotated
    },
  })
  defineCommand(merchants, 'suspend <id>', 'reject all requests of a merchant', {
    examples: ['f5ebe0d2', 'f5ebe0d2 --yes'],
    confirmation: {
      question: (stores, _, id: string) =>
        merchantQuestion(stores, id, (name) => `All requests of ${name} are rejected until \`merchants resume\`.`),
    },
    run: async ({ merchants, context }, _, id: string) =>
      accepted(await merchants.execute(id, { type: 'Suspend' }, context)),
    json: changedMerchant,
  })
  defineCommand(merchants, 'resume <id>', 'accept requests of a merchant again', {
    examples: ['f5ebe0d2', 'f5ebe0d2 --json'],
    run: async ({ merchants, context }, _, id: string) =>
      accepted(await merchants.execute(id, { type: 'Resume' }, context)),
    json: changedMerchant,
  })
}

/** Returns the question that requires the name of a merchant, because ids look alike. @throws Refused if the merchant does not exist */
async function merchantQuestion(
  stores: CommandStores,
  id: string,
  effectOn: (merchant: string) => string,
): Promise<Question> {
  const { merchantId, settings } = await findMerchant(stores, id)
  return { effect: effectOn(`the merchant ${settings.name} (${merchantId})`), word: settings.name }
}

function signatureOption(): OptionOf<string | false | undefined> {
  const choices = signedCreates.filter((each) => each !== 'none')
  const { complete, ...option } = choice(
    '[requests]',
    'reject creates of withdrawals, or all requests that change something, without a valid X-Signature',
    choices,
  )
  return { ...option, complete: (each) => complete(each).preset('all') }
}

function range(text: string): string {
  const problem = rangeProblem(text)
  if (problem) throw new InvalidArgumentError(refusalText(problem))
  return text
}

/** Parses `code=text`. Accepts `\\n` for a line break, which is easier in a shell. */
function instruction(text: string) {
  const [, code, words] = /^(\d{1,4})=(.+)$/s.exec(text) ?? []
  if (!code || !words) throw new InvalidArgumentError("It must be a payment method's code, = and the text.")
  return { paymentMethod: Number(code), text: words.replaceAll('\\n', '\n').trim() }
}

/** Parses the scope, the period, the largest number and the largest sum of a limit. A hyphen stands for no limit of this kind. */
function withdrawalLimit(text: string): WithdrawalLimit {
  const [per, period, count, sum, ...more] = text.trim().split(/\s+/)
  const scope = limitScopes.find((each) => each === per)
  const hours = ({ '24h': 24, '30d': 720 } as const)[period ?? '']
  if (!scope || !hours || !count || !sum || more.length > 0)
    throw new InvalidArgumentError(
      `It must be ${limitScopes.join(', ')}, a period (24h, 30d), a number and an amount, such as "account 24h 5 2000.00". Write - for no number or amount.`,
    )
  return {
    per: scope,
    hours,
    count: count === '-' ? null : integer({ min: 1, max: maxLimitCount })(count),
    amountMinor: sum === '-' ? null : amount(sum),
  }
}

/** Returns the settings that the options name. */
function settingsOf(options: object): Partial<MerchantSettings> {
  const named = Object.entries(options).filter(([name]) => Object.hasOwn(settingOptions, name))
  const settings = named.map(([name, value]: [string, unknown]) => {
    const [, resetTo] = resets[name] ?? ['', 'none']
    return [settingNames[name] ?? name, value === false ? resetTo : value]
  })
  return Object.fromEntries(settings)
}

/** Rejects settings that do not fit, with the option that sets each. @throws UsageError */
function checkSettings(
  before: Partial<MerchantSettings>,
  given: Partial<MerchantSettings>,
  { configuration }: CommandStores,
  networks: CallbackNetworks,
): void {
  const problem = settingsRefusal(before, given, { ...configuration, networks })
  if (!problem) return
  const [name] = Object.entries(settingNames).find(([, setting]) => setting === problem.field) ?? [problem.field]
  throw new UsageError(refusalText(problem, flagOf(name)), problem.rule)
}

const endpointNotices: { readonly [warning in EndpointWarning]: string } = {
  refused:
    'its callbacks are refused: the URL leads to an address that is neither public nor in CALLBACK_ALLOWED_NETWORKS',
  'refused-once-live':
    'its callbacks are refused once a live merchant exists: the URL leads to this machine (CALLBACK_ALLOWED_NETWORKS)',
  unresolved: 'its callbacks fail until the host name of the URL resolves; it does not resolve on this machine',
}

/** Prints what happens to callbacks to a URL that was just set. */
async function checkEndpoint(
  { callbackUrl, sandbox }: Pick<MerchantSettings, 'callbackUrl' | 'sandbox'>,
  { notify }: CommandStores,
  networks: CallbackNetworks,
): Promise<void> {
  const { createHostResolver } = await import('../callbacks/deliver/endpoint-connection.js')
  const warning = await networks.checkedWarningOf(callbackUrl, sandbox, createHostResolver())
  if (warning) notify(endpointNotices[warning])
}

async function networksOf({ configuration, merchantDirectory }: CommandStores): Promise<CallbackNetworks> {
  const { callbackNetworks } = await import('../commands/merchant/callback-networks.js')
  return callbackNetworks(configuration, await merchantDirectory())
}

async function createMerchant(stores: CommandStores, options: object) {
  const { merchants, context } = stores
  const { loopback } = await import('../sandbox/sandbox.js')
  const networks = await networksOf(stores)
  const given = settingsOf(options)
  const allowIps = given.sandbox ? loopback : []
  const settings = { ...defaultSettings(given.sandbox === true), allowIps, ...given } as MerchantSettings
  checkSettings(settings, given, stores, networks)
  if (settings.allowIps.length === 0)
    stores.notify('without --allow-ip, this merchant cannot make requests yet (merchants set --allow-ip)')
  await checkEndpoint(settings, stores, networks)
  const issued = await merchants.register(settings, context)
  if (!settings.sandbox) await goLive(stores)
  return issued
}

async function changeSettings(stores: CommandStores, options: object, id: string) {
  const { merchants, context } = stores
  const changes = settingsOf(options)
  if (Object.keys(changes).length === 0) throw new UsageError('name at least one setting')
  const before = await findMerchant(stores, id)
  const networks = await networksOf(stores)
  checkSettings(before.settings, changes, stores, networks)
  if (before.settings.sandbox && changes.sandbox === false) {
    const { sandboxActor } = await import('../sandbox/sandbox.js')
    // Its credentials are known to everyone who tried the service.
    if ((await merchants.registeredBy(id)) === sandboxActor)
      throw new Refused(
        'sandbox-credentials',
        'The credentials of the sandbox merchant are not secret. Create a new merchant instead.',
      )
  }
  const { merchant, changed } = accepted(await changeMerchantSettings(merchants, id, changes, context))
  if (changes.callbackUrl !== undefined || changes.sandbox !== undefined)
    await checkEndpoint(merchant.settings, stores, networks)
  if (changes.sandbox === false) {
    await goLive(stores)
    // A former sandbox merchant keeps its default, unlike a merchant that is live from the start.
    if (merchant.settings.requireSignature === 'none')
      stores.notify('withdrawals of this merchant do not require an X-Signature (merchants set --require-signature)')
  }
  return { before, merchant, changed }
}

/** Closes the sandbox. A running service does the same when it sees the live merchant. */
async function goLive(stores: CommandStores): Promise<void> {
  const { configuration, merchants, context, notify } = stores
  const { createUserCommands } = await import('../commands/user/user-commands.js')
  const { closeSandbox, messageWarnings, refusedEndpoints } = await import('../sandbox/sandbox.js')
  for (const warning of messageWarnings(configuration)) notify(warning)
  try {
    const { users, directory } = createUserCommands(stores)
    const all = await stores.allMerchants()
    const closed = await closeSandbox(configuration.dataDirectory, { merchants, users }, all, context)
    for (const merchantId of closed.merchants) notify(`the sandbox has ended: its merchant ${merchantId} is suspended`)
    for (const userId of closed.users) notify(`the sandbox has ended: its user ${userId} is disabled`)
    const remainingMerchants = all.filter(({ merchantId }) => !closed.merchants.includes(merchantId))
    for (const warning of refusedEndpoints(await networksOf(stores), remainingMerchants)) notify(warning)
    if (all.filter(({ settings }) => !settings.sandbox).length > 1) return
    // The first live merchant: users from the time of trials keep their access.
    await directory.catchUp()
    const remaining = directory.all().filter(({ disabled }) => !disabled)
    for (const user of remaining)
      notify(`the user ${user.userId} remains: ${users.shownEmailOf(user)}, ${user.role} (users disable)`)
    if (remaining.length === 0) notify('no user of the dashboard remains (users create)')
  } catch (error) {
    // The credentials of the live merchant are shown only once, so they must be printed even if closing the sandbox fails.
    notify(`the sandbox is not closed yet; the next start of the service closes it: ${(error as Error).message}`)
  }
}

function changedMerchant({ merchant, changed }: { readonly merchant: Merchant; readonly changed: boolean }) {
  return { ...merchantView(merchant), changed }
}

/** Returns the changed fields as `before → after`. */
function changesText(result: { readonly before: Merchant; readonly merchant: Merchant }): string {
  const before = new Map<string, unknown>(Object.entries(merchantView(result.before)))
  const changes = Object.entries(merchantView(result.merchant))
    .map(([name, value]) => [name, cell(before.get(name)), cell(value)] as const)
    .filter(([, old, now]) => old !== now)
  if (changes.length === 0) return 'nothing changed\n'
  return readable(Object.fromEntries(changes.map(([name, old, now]) => [name, `${old} → ${now}`])))
}

/** Omits the secrets and shows only how long a previous one stays valid. */
function merchantView({ merchantId, settings, ...merchant }: Merchant) {
  const { mismatchToleranceMinor, manualControlAboveMinor, approvalAboveMinor, ...others } = settings
  const { minAmountMinor, maxAmountMinor, withdrawalLimits, ...same } = others
  const {
    suspended,
    proposedThreshold: proposed,
    callbacksDisabled,
    apiKeys,
    secretKeys,
    webhookSecret,
    createdAt,
  } = merchant
  return {
    id: merchantId,
    ...same,
    mismatchTolerance: toJsonNumber(mismatchToleranceMinor),
    manualControlAbove: amountOrNull(manualControlAboveMinor),
    approvalAbove: amountOrNull(approvalAboveMinor),
    withdrawalLimits: limitsView(withdrawalLimits),
    proposedThreshold: proposed && {
      approvalAbove: amountOrNull(proposed.approvalAboveMinor),
      ...(proposed.withdrawalLimits && { withdrawalLimits: limitsView(proposed.withdrawalLimits) }),
      ...(typeof proposed.approvalOverDay === 'boolean' && { approvalOverDay: proposed.approvalOverDay }),
      by: proposed.by,
      at: proposed.at,
    },
    minAmount: toJsonNumber(minAmountMinor),
    maxAmount: toJsonNumber(maxAmountMinor),
    suspended,
    callbacksDisabled,
    keys: apiKeys.map(keyView),
    previousSecretKeyValidUntil: secretKeys.all[1]?.validUntil ?? null,
    // Null: with the current one.
    callbacksHashedWithPreviousUntil: callbackSecretKey(secretKeys, new Date().toISOString()).validUntil,
    previousWebhookSecretValidUntil: webhookSecret.previous?.validUntil ?? null,
    createdAt,
  }
}

/** Returns limits in the form of the option. */
function limitsView(limits: readonly WithdrawalLimit[]): readonly string[] {
  return limits.map(({ per, hours, count, amountMinor }) => {
    const sum = amountMinor === null ? '-' : formatTwoDecimals(amountMinor)
    return `${per} ${hours === 24 ? '24h' : '30d'} ${count ?? '-'} ${sum}`
  })
}

function amountOrNull(minor: bigint | null): number | null {
  return minor === null ? null : toJsonNumber(minor)
}

const keyName = matching((text) => keyNameForm.test(text), refusalText(violate('api-key-name-invalid', { most: 64 })))
const oneScope = parsed((text) => scopes.find((each) => each === text), `Allowed choices are ${scopes.join(', ')}.`)
const scopeDescription = `${scopes.join(', ')}; repeatable (default: ${usualScopes.join(', ')})`

function addKeyCommands(merchants: Command): void {
  const keys = merchants.command('keys').description("a merchant's WebApiKeys")
  defineCommand(keys, 'create <id>', 'issue an additional WebApiKey, which is shown only once', {
    examples: [
      'f5ebe0d2 --name reports --scope read',
      'f5ebe0d2 --name shop-2 --scope deposits --scope withdrawals --expires 2027-01-01',
    ],
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
    examples: ['f5ebe0d2', 'f5ebe0d2 --json'],
    run: async (stores, _, id: string) => (await findMerchant(stores, id)).apiKeys.map(keyView),
    list: {
      columns: { keyId: {}, scopes: {}, validUntil: {}, createdAt: { head: 'CREATED' }, name: {} },
      none: 'No keys found.',
    },
  })
  defineCommand(keys, 'revoke <id> <keyId>', 'reject a key from now on', {
    examples: ['f5ebe0d2 9f86d081884c', 'f5ebe0d2 9f86d081884c --yes'],
    confirmation: {
      question: (stores, _, id: string, keyId: string) =>
        merchantQuestion(
          stores,
          id,
          (name) => `The WebApiKey ${keyId} of ${name} stops working immediately and permanently.`,
        ),
    },
    async run({ merchants, context }, _, id: string, keyId: string) {
      const { merchant } = accepted(await merchants.execute(id, { type: 'RevokeApiKey', keyId }, context))
      return { id, keyId, keys: merchant.apiKeys.map(keyView) }
    },
  })
}

/** Omits everything that helps to guess the key. */
function keyView(key: ApiKey) {
  const { name, scopes, validUntil, createdAt } = key
  return { keyId: apiKeyId(key), name, scopes, validUntil, createdAt }
}
