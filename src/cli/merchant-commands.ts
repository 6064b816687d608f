import { type Command, InvalidArgumentError, Option } from 'commander'
import { rangeProblem } from '../commands/merchant/addresses.js'
import { changeMerchantSettings, settingsRefusal } from '../commands/merchant/settings-changes.js'
import { refusalText } from '../commands/refusal-texts.js'
import { callbackSecretKey, type Merchant } from '../domain/merchant/merchant.js'
import type { MerchantSettings } from '../domain/merchant/merchant-events.js'
import {
  defaultSettings,
  depositExpiryMinutes,
  maxNameLength,
  overlapMinutes,
  rateLimitPerSecond,
  signedCreates,
} from '../domain/merchant/merchant-settings.js'
import { toJsonNumber } from '../domain/money.js'
import { pageOfAll } from '../queries/list-page.js'
import type { CommandStores } from './cli-stores.js'
import {
  accepted,
  defineCommand,
  definePagedCommand,
  findMerchant,
  type Listing,
  type PageOptions,
  Refused,
  UsageError,
} from './command.js'
import { addKeyCommands, keyView } from './merchant-keys.js'
import { amount, integer, text, tolerance, visible } from './options.js'
import { age, cell, readable } from './readable.js'

/** The value of `--no-…` is false. */
type SettingOptions = { readonly [option: string]: unknown }
type Parse = (text: string, previous: unknown) => unknown
type Setting = keyof MerchantSettings

const settingOptions: readonly (readonly [setting: Setting, flags: string, description: string, parse?: Parse])[] = [
  ['name', '--name <name>', 'shown to customers', text(maxNameLength)],
  ['callbackUrl', '--callback-url <url>', 'the address for status callbacks', visible],
  ['allowIps', '--allow-ip <cidr>', 'an allowed address or range; repeatable', range],
  ['sandbox', '--sandbox', 'a test merchant, which can use loopback and plain http'],
  ['autoCancelMismatch', '--auto-cancel-mismatch', 'cancel deposits whose amount differs'],
  [
    'mismatchToleranceMinor',
    '--mismatch-tolerance <amount>',
    'the largest difference that is not a mismatch',
    tolerance,
  ],
  ['manualControlAboveMinor', '--manual-control-above <amount>', 'larger deposits need manual review', amount],
  ['approvalAboveMinor', '--approval-above <amount>', 'larger withdrawals need a second person', amount],
  ['rateLimitPerSecond', '--rate-limit <per second>', 'requests per second', integer(rateLimitPerSecond)],
  [
    'depositExpiryMinutes',
    '--deposit-expiry-minutes <n>',
    `time to finish a deposit, ${depositExpiryMinutes.min} to ${depositExpiryMinutes.max}`,
    integer(depositExpiryMinutes),
  ],
  ['minAmountMinor', '--min-amount <amount>', 'smallest amount of a transfer', amount],
  ['maxAmountMinor', '--max-amount <amount>', 'largest amount of a transfer', amount],
  ['requireNativeHash', '--require-native-hash', 'reject native deposits without a hashCode'],
  ['callbackOnCreate', '--callback-on-create', 'also send a callback for the creation'],
  ['returnUrl', '--return-url <url>', 'the address to which the payment page returns the customer', visible],
  ['frameAncestors', '--frame-ancestor <origin>', 'an origin that can embed the payment page; repeatable', listed],
  [
    'paymentInstructions',
    '--instructions <code=text>',
    'the payment instructions for a manual payment method; repeatable',
    instruction,
  ],
]
const requiredSettings: readonly Setting[] = ['name', 'callbackUrl']

/** The options that reset a setting, and the resulting values. */
const withoutOptions: readonly (readonly [setting: Setting, flag: string, description: string, value: unknown])[] = [
  ['allowIps', '--no-allow-ip', 'no address is allowed', []],
  ['sandbox', '--no-sandbox', 'a live merchant', false],
  ['autoCancelMismatch', '--no-auto-cancel-mismatch', 'complete deposits whose amount differs', false],
  ['manualControlAboveMinor', '--no-manual-control-above', 'complete deposits of any amount', null],
  ['approvalAboveMinor', '--no-approval-above', 'no withdrawal needs a second person', null],
  ['requireNativeHash', '--no-require-native-hash', 'accept native deposits without a hashCode', false],
  ['callbackOnCreate', '--no-callback-on-create', 'no callback for the creation', false],
  ['returnUrl', '--no-return-url', 'no return address', null],
  ['frameAncestors', '--no-frame-ancestor', 'no origin can embed the payment page', []],
  ['paymentInstructions', '--no-instructions', 'the payment page refers customers to the merchant', []],
]

export function addMerchantCommands(program: Command): void {
  const merchants = program.command('merchants').description('create and change merchants')
  const create = merchants.command('create').description('create a merchant; its credentials are shown only once')
  defineCommand(addSettings(create, true), createMerchant, { log: 'may be new' })
  defineCommand(
    merchants.command('show <id>').description('show the settings and the state of a merchant'),
    showMerchant,
  )
  definePagedCommand(merchants.command('list').description('all merchants, newest first'), listMerchants, merchantTable)
  const set = merchants.command('set <id>').description('change settings; omitted settings stay unchanged')
  defineCommand(addSettings(set, false), changeSettings, { json: changedMerchant, text: changesText })
  const rotateKey = merchants.command('rotate-key <id>').description('issue a new main WebApiKey')
  defineCommand(rotateKey.addOption(overlap()), rotateApiKey)
  addKeyCommands(merchants)
  const rotateSecret = merchants.command('rotate-secret <id>').description('issue new secrets')
  const only = new Option('--only <secret>', 'rotate only this secret').choices(['secretKey', 'webhookSecret'])
  defineCommand(rotateSecret.addOption(only).addOption(overlap()), rotateSecrets)
  defineCommand(
    merchants.command('suspend <id>').description('reject all requests of a merchant'),
    async ({ merchants, context }: CommandStores, _options: object, id: string) =>
      accepted(await merchants.suspend(id, context)),
    { json: changedMerchant },
  )
  defineCommand(
    merchants.command('resume <id>').description('accept requests of a merchant again'),
    async ({ merchants, context }: CommandStores, _options: object, id: string) =>
      accepted(await merchants.execute(id, { type: 'Resume' }, context)),
    { json: changedMerchant },
  )
}

function overlap(): Option {
  return new Option('--overlap-minutes <n>', 'how long the previous value stays valid; 0 revokes it immediately')
    .argParser(integer(overlapMinutes))
    .default(overlapMinutes.usual)
}

function addSettings(command: Command, creating: boolean): Command {
  for (const [setting, flags, description, parse] of settingOptions) {
    const option = new Option(flags, description).makeOptionMandatory(creating && requiredSettings.includes(setting))
    command.addOption(parse ? option.argParser(parse) : option)
  }
  const creates = signedCreates.filter((each) => each !== 'none')
  const signed = new Option('--require-signature [creates]', 'reject these creates without a valid X-Signature')
  command.addOption(signed.choices(creates).preset('all'))
  command.option('--no-require-signature', 'accept all creates without X-Signature')
  if (!creating) for (const [, flag, description] of withoutOptions) command.option(flag, description)
  return command
}

function range(text: string, previous: unknown): unknown[] {
  if (rangeProblem(text)) throw new InvalidArgumentError('It must be an IP address or a CIDR range.')
  return listed(text, previous)
}

/** Collects the values of a repeatable option. */
function listed<Each>(each: Each, previous: unknown): unknown[] {
  return [...(Array.isArray(previous) ? previous : []), each]
}

/** Parses `code=text`. Accepts `\\n` for a line break, which is easier in a shell. */
function instruction(text: string, previous: unknown): unknown[] {
  const [, code, words] = /^(\d{1,4})=(.+)$/s.exec(text) ?? []
  if (!code || !words) throw new InvalidArgumentError("It must be a payment method's code, = and the text.")
  return listed({ paymentMethod: Number(code), text: words.replaceAll('\\n', '\n').trim() }, previous)
}

/** Returns the settings that the options name. */
function settingsOf(options: SettingOptions): Partial<MerchantSettings> {
  const { requireSignature } = options
  const settings = settingOptions.flatMap(([setting, flags]) => {
    const value = options[new Option(flags).attributeName()]
    if (value !== false) return value === undefined ? [] : [[setting, value]]
    return [[setting, withoutOptions.find(([each]) => each === setting)?.[3]]]
  })
  if (requireSignature !== undefined) settings.push(['requireSignature', requireSignature || 'none'])
  return Object.fromEntries(settings)
}

/** Returns the option that sets a setting. */
function flagOf(setting: string): string {
  const [, flags] = settingOptions.find(([each]) => each === setting) ?? []
  return flags?.split(' ')[0] ?? setting
}

/** @throws UsageError */
function checkSettings(
  before: Partial<MerchantSettings>,
  given: Partial<MerchantSettings>,
  { configuration }: CommandStores,
): void {
  const problem = settingsRefusal(before, given, configuration)
  if (problem) throw new UsageError(refusalText(problem, flagOf(problem.field)))
}

async function createMerchant(stores: CommandStores, options: SettingOptions) {
  const { merchants, context } = stores
  const { loopback } = await import('../sandbox/sandbox.js')
  const given = settingsOf(options)
  const allowIps = given.sandbox ? loopback : []
  const settings = { ...defaultSettings(given.sandbox === true), allowIps, ...given } as MerchantSettings
  checkSettings(settings, given, stores)
  if (settings.allowIps.length === 0) {
    stores.notify('without --allow-ip, this merchant cannot make requests yet (merchants set --allow-ip)')
  }
  const issued = await merchants.register(settings, context)
  if (!settings.sandbox) await goLive(stores)
  return issued
}

async function changeSettings(stores: CommandStores, options: SettingOptions, id: string) {
  const { merchants, context } = stores
  const changes = settingsOf(options)
  if (Object.keys(changes).length === 0) throw new UsageError('name at least one setting')
  const before = await findMerchant(stores, id)
  checkSettings(before.settings, changes, stores)
  if (before.settings.sandbox && changes.sandbox === false) await refuseSandboxMerchant(stores, id)
  const { merchant, changed } = accepted(await changeMerchantSettings(merchants, id, changes, context))
  if (changes.sandbox === false) {
    await goLive(stores)
    // A former sandbox merchant keeps its default, unlike a merchant that is live from the start.
    if (merchant.settings.requireSignature === 'none') {
      stores.notify('withdrawals of this merchant do not require an X-Signature (merchants set --require-signature)')
    }
  }
  return { before, merchant, changed }
}

/** Closes the sandbox. A running service does the same when it sees the live merchant. */
async function goLive(stores: CommandStores): Promise<void> {
  const { configuration, merchants, context, notify } = stores
  const { createUserCommands } = await import('../commands/user/user-commands.js')
  const { closeSandbox } = await import('../sandbox/sandbox.js')
  const { messageWarnings } = await import('../sandbox/going-live.js')
  for (const warning of messageWarnings(configuration)) notify(warning)
  try {
    const { users } = createUserCommands(stores)
    const closed = await closeSandbox(
      configuration.dataDirectory,
      { merchants, users },
      await stores.allMerchants(),
      context,
    )
    for (const merchantId of closed) notify(`the sandbox has ended: its merchant ${merchantId} is suspended`)
  } catch (error) {
    // The credentials of the live merchant are shown only once, so they must be printed even if closing the sandbox fails.
    notify(`the sandbox is not closed yet; the next start of the service closes it: ${(error as Error).message}`)
  }
}

/** Rejects the sandbox merchant, whose credentials are known to everyone who tried the service. @throws Refused */
async function refuseSandboxMerchant({ merchants }: CommandStores, id: string): Promise<void> {
  const { sandboxActor } = await import('../sandbox/sandbox-actor.js')
  if ((await merchants.registeredBy(id)) !== sandboxActor) return
  throw new Refused('The credentials of the sandbox merchant are not secret. Create a new merchant instead.')
}

async function showMerchant(stores: CommandStores, _options: object, id: string) {
  return merchantView(await findMerchant(stores, id))
}

async function listMerchants(stores: CommandStores, options: PageOptions) {
  const merchants = await stores.allMerchants()
  const { items, nextCursor } = pageOfAll(merchants, options, ({ createdAt, merchantId }) => ({
    at: createdAt,
    id: merchantId,
  }))
  return { items: items.map(merchantView), nextCursor }
}

async function rotateApiKey({ merchants, context }: CommandStores, options: { overlapMinutes: number }, id: string) {
  const { webApiKey } = accepted(await merchants.rotateApiKey(id, options.overlapMinutes, context))
  return { id, webApiKey }
}

async function rotateSecrets(
  { merchants, context }: CommandStores,
  options: { overlapMinutes: number; only?: 'secretKey' | 'webhookSecret' },
  id: string,
) {
  const rotated: { id: string; secretKey?: string; webhookSecret?: string } = { id }
  for (const secret of options.only ? [options.only] : (['secretKey', 'webhookSecret'] as const)) {
    rotated[secret] = accepted(await merchants.rotateSecret(id, secret, options.overlapMinutes, context)).value
  }
  return rotated
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

const merchantTable: Listing<ReturnType<typeof merchantView>> = {
  columns: () => [
    { head: 'ID', cell: ({ id }) => id },
    { head: 'STATE', cell: ({ suspended, sandbox }) => (suspended ? 'suspended' : sandbox ? 'sandbox' : 'live') },
    { head: 'CALLBACKS', cell: ({ callbacksDisabled }) => (callbacksDisabled === null ? 'enabled' : 'disabled') },
    { head: 'AGE', cell: ({ createdAt }) => age(createdAt), align: 'right' },
    { head: 'NAME', cell: ({ name }) => name, max: 34 },
  ],
  emptyText: 'No merchants found.',
}

/** Omits the secrets and shows only how long a previous one stays valid. */
function merchantView({ merchantId, settings, ...merchant }: Merchant) {
  const {
    mismatchToleranceMinor,
    manualControlAboveMinor,
    approvalAboveMinor,
    minAmountMinor,
    maxAmountMinor,
    ...same
  } = settings
  return {
    id: merchantId,
    ...same,
    mismatchTolerance: toJsonNumber(mismatchToleranceMinor),
    manualControlAbove: manualControlAboveMinor === null ? null : toJsonNumber(manualControlAboveMinor),
    approvalAbove: approvalAboveMinor === null ? null : toJsonNumber(approvalAboveMinor),
    minAmount: toJsonNumber(minAmountMinor),
    maxAmount: toJsonNumber(maxAmountMinor),
    suspended: merchant.suspended,
    callbacksDisabled: merchant.callbacksDisabled,
    keys: merchant.apiKeys.map(keyView),
    previousSecretKeyValidUntil: merchant.secretKeys.all[1]?.validUntil ?? null,
    // Null: with the current one.
    callbacksHashedWithPreviousUntil: callbackSecretKey(merchant.secretKeys, new Date().toISOString()).validUntil,
    previousWebhookSecretValidUntil: merchant.webhookSecret.previous?.validUntil ?? null,
    createdAt: merchant.createdAt,
  }
}
