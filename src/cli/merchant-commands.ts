import { type Command, InvalidArgumentError, Option } from 'commander'
import { rangeProblem } from '../commands/merchant/address-index.js'
import { changeMerchantSettings, settingsRefusal } from '../commands/merchant/settings-changes.js'
import type { Merchant } from '../domain/merchant/merchant.js'
import type { MerchantSettings } from '../domain/merchant/merchant-events.js'
import {
  defaultSettings,
  depositExpiryMinutes,
  maxNameLength,
  overlapMinutes,
  rateLimitPerSecond,
  signedCreates,
} from '../domain/merchant/merchant-settings.js'
import { callbackSecretKey } from '../domain/merchant/secret-keys.js'
import { toJsonNumber } from '../domain/money.js'
import { pageOfAll } from '../queries/list-page.js'
import type { Workplace } from './cli-stores.js'
import {
  accepted,
  answer,
  answerPage,
  findMerchant,
  type Listing,
  type PageOptions,
  Refused,
  UsageError,
} from './command.js'
import { addKeyCommands, keyView } from './merchant-keys.js'
import { amount, integer, text, tolerance, visible } from './options.js'
import { age, cell, readable } from './readable.js'

/** `--no-…` arrives as false. */
type SettingOptions = { readonly [option: string]: unknown }
type Parse = (text: string, before: unknown) => unknown
type Setting = keyof MerchantSettings

const settingOptions: readonly (readonly [setting: Setting, flags: string, description: string, parse?: Parse])[] = [
  ['name', '--name <name>', 'shown to customers', text(maxNameLength)],
  ['callbackUrl', '--callback-url <url>', 'where status callbacks go', visible],
  ['allowIps', '--allow-ip <cidr>', 'an address or range that may call; repeat it for several', range],
  ['sandbox', '--sandbox', 'for trying things out: may use loopback and plain http'],
  ['autoCancelMismatch', '--auto-cancel-mismatch', 'cancel deposits whose amount differs'],
  ['mismatchToleranceMinor', '--mismatch-tolerance <amount>', 'a difference up to this is no mismatch', tolerance],
  ['manualControlAboveMinor', '--manual-control-above <amount>', 'a person looks at deposits of more', amount],
  ['approvalAboveMinor', '--approval-above <amount>', 'withdrawals of more need a second person', amount],
  ['rateLimitPerSecond', '--rate-limit <per second>', 'requests per second', integer(rateLimitPerSecond)],
  [
    'depositExpiryMinutes',
    '--deposit-expiry-minutes <n>',
    `time to finish a deposit, ${depositExpiryMinutes.min} to ${depositExpiryMinutes.max}`,
    integer(depositExpiryMinutes),
  ],
  ['minAmountMinor', '--min-amount <amount>', 'smallest amount of a transfer', amount],
  ['maxAmountMinor', '--max-amount <amount>', 'largest amount of a transfer', amount],
  ['requireNativeHash', '--require-native-hash', 'refuse native deposits without a hashCode'],
  ['callbackOnCreate', '--callback-on-create', 'send a callback for the creation too'],
  ['returnUrl', '--return-url <url>', 'where the payment page sends the customer back to', visible],
  [
    'frameAncestors',
    '--frame-ancestor <origin>',
    'an origin that may frame the payment page; repeat it for several',
    listed,
  ],
  [
    'paymentInstructions',
    '--instructions <code=text>',
    'how customers pay by this manual payment method, as the payment page shows it; repeat it for several',
    instruction,
  ],
]
const requiredSettings: readonly Setting[] = ['name', 'callbackUrl']

/** What takes a setting back, and what it is then. */
const withoutOptions: readonly (readonly [setting: Setting, flag: string, description: string, value: unknown])[] = [
  ['allowIps', '--no-allow-ip', 'nobody may call', []],
  ['sandbox', '--no-sandbox', 'a live merchant', false],
  ['autoCancelMismatch', '--no-auto-cancel-mismatch', 'complete deposits whose amount differs', false],
  ['manualControlAboveMinor', '--no-manual-control-above', 'complete deposits of any amount', null],
  ['approvalAboveMinor', '--no-approval-above', 'no withdrawal needs a second person', null],
  ['requireNativeHash', '--no-require-native-hash', 'accept native deposits without a hashCode', false],
  ['callbackOnCreate', '--no-callback-on-create', 'no callback for the creation', false],
  ['returnUrl', '--no-return-url', 'no way back from the payment page', null],
  ['frameAncestors', '--no-frame-ancestor', 'nobody may frame the payment page', []],
  ['paymentInstructions', '--no-instructions', 'the payment page tells customers to ask the merchant', []],
]

export function addMerchantCommands(program: Command): void {
  const merchants = program.command('merchants').description('register merchants and change them')
  const create = merchants.command('create').description('register a merchant; its credentials are shown this once')
  answer(addSettings(create, true), createMerchant, { log: 'may be new' })
  answer(merchants.command('show <id>').description('settings and state of a merchant'), showMerchant)
  answerPage(merchants.command('list').description('all merchants, newest first'), listMerchants, merchantTable)
  const set = merchants.command('set <id>').description('change settings; what is not named stays')
  answer(addSettings(set, false), changeSettings, { json: changedMerchant, text: changesText })
  const rotateKey = merchants.command('rotate-key <id>').description('issue another main WebApiKey')
  answer(rotateKey.addOption(overlap()), rotateApiKey)
  addKeyCommands(merchants)
  const rotateSecret = merchants.command('rotate-secret <id>').description('issue other secrets')
  const only = new Option('--only <secret>', 'rotate one of the two').choices(['secretKey', 'webhookSecret'])
  answer(rotateSecret.addOption(only).addOption(overlap()), rotateSecrets)
  answer(
    merchants.command('suspend <id>').description('refuse all requests of a merchant'),
    async ({ merchants, context }: Workplace, _options: object, id: string) =>
      accepted(await merchants.suspend(id, context)),
    { json: changedMerchant },
  )
  answer(
    merchants.command('resume <id>').description('accept requests of a merchant again'),
    async ({ merchants, context }: Workplace, _options: object, id: string) =>
      accepted(await merchants.resume(id, context)),
    { json: changedMerchant },
  )
}

function overlap(): Option {
  return new Option('--overlap-minutes <n>', 'how long the one before stays valid; 0 revokes it at once')
    .argParser(integer(overlapMinutes))
    .default(overlapMinutes.usual)
}

function addSettings(command: Command, creating: boolean): Command {
  for (const [setting, flags, description, parse] of settingOptions) {
    const option = new Option(flags, description).makeOptionMandatory(creating && requiredSettings.includes(setting))
    command.addOption(parse ? option.argParser(parse) : option)
  }
  const creates = signedCreates.filter((each) => each !== 'none')
  const signed = new Option('--require-signature [creates]', 'refuse these without a valid X-Signature')
  command.addOption(signed.choices(creates).preset('all'))
  command.option('--no-require-signature', 'accept all creates without X-Signature')
  if (!creating) for (const [, flag, description] of withoutOptions) command.option(flag, description)
  return command
}

function range(text: string, before: unknown): unknown[] {
  if (rangeProblem(text)) throw new InvalidArgumentError('It must be an IP address or a CIDR range.')
  return listed(text, before)
}

/** Before, there was none, or an earlier one of several. */
function listed<Each>(each: Each, before: unknown): unknown[] {
  return [...(Array.isArray(before) ? before : []), each]
}

/** Lines are real ones, or `\\n` where a shell makes that easier. */
function instruction(text: string, before: unknown): unknown[] {
  const [, code, words] = /^(\d{1,4})=(.+)$/s.exec(text) ?? []
  if (!code || !words) throw new InvalidArgumentError("It must be a payment method's code, = and the text.")
  return listed({ paymentMethod: Number(code), text: words.replaceAll('\\n', '\n').trim() }, before)
}

/** The settings that were named. */
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

/** @throws UsageError */
function checkSettings(
  before: Partial<MerchantSettings>,
  given: Partial<MerchantSettings>,
  { configuration }: Workplace,
): void {
  const problem = settingsRefusal(before, given, configuration)
  if (problem) throw new UsageError(problem.message)
}

async function createMerchant(workplace: Workplace, options: SettingOptions) {
  const { merchants, context } = workplace
  const { loopback } = await import('../sandbox/sandbox.js')
  const given = settingsOf(options)
  const allowIps = given.sandbox ? loopback : []
  const settings = { ...defaultSettings(given.sandbox === true), allowIps, ...given } as MerchantSettings
  checkSettings(settings, given, workplace)
  if (settings.allowIps.length === 0) {
    workplace.tell('no --allow-ip was given, so nobody may call as this merchant yet (merchants set --allow-ip)')
  }
  const issued = await merchants.register(settings, context)
  if (!settings.sandbox) await goLive(workplace)
  return issued
}

async function changeSettings(workplace: Workplace, options: SettingOptions, id: string) {
  const { merchants, context } = workplace
  const changes = settingsOf(options)
  if (Object.keys(changes).length === 0) throw new UsageError('name at least one setting to change')
  const before = await findMerchant(workplace, id)
  checkSettings(before.settings, changes, workplace)
  if (before.settings.sandbox && changes.sandbox === false) await refuseSandboxMerchant(workplace, id)
  const { merchant, changed } = accepted(await changeMerchantSettings(merchants, id, changes, context))
  if (changes.sandbox === false) {
    await goLive(workplace)
    // The default of sandbox merchants stays, unlike that of merchants that are live from the start.
    if (merchant.settings.requireSignature === 'none') {
      workplace.tell('withdrawals of this merchant need no X-Signature (merchants set --require-signature)')
    }
  }
  return { before, merchant, changed }
}

/** Beside a running service, which does the same as soon as it knows. */
async function goLive(workplace: Workplace): Promise<void> {
  const { configuration, merchants, context, tell } = workplace
  const { createUserCommands } = await import('../main/user-commands-wiring.js')
  const { closeSandbox } = await import('../sandbox/sandbox.js')
  const { messageWarnings } = await import('../sandbox/going-live.js')
  for (const warning of messageWarnings(configuration)) tell(warning)
  try {
    const { users } = createUserCommands(workplace)
    const closed = await closeSandbox(
      configuration.dataDirectory,
      { merchants, users },
      await workplace.allMerchants(),
      context,
    )
    for (const merchantId of closed) tell(`the sandbox is over: its merchant ${merchantId} is suspended`)
  } catch (error) {
    // The merchant is live, and its credentials are shown this once, whatever becomes of the sandbox's.
    tell(`the sandbox is not closed yet, a start of the service does it: ${(error as Error).message}`)
  }
}

/** Its credentials were shown to whoever tried the service out. @throws Refused */
async function refuseSandboxMerchant({ merchants }: Workplace, id: string): Promise<void> {
  const { sandboxActor } = await import('../sandbox/sandbox-actor.js')
  if ((await merchants.registeredBy(id)) !== sandboxActor) return
  throw new Refused('This is the merchant of the sandbox, whose credentials were shown: create another one.')
}

async function showMerchant(workplace: Workplace, _options: object, id: string) {
  return merchantView(await findMerchant(workplace, id))
}

async function listMerchants(workplace: Workplace, options: PageOptions) {
  const merchants = await workplace.allMerchants()
  const { items, nextCursor } = pageOfAll(merchants, options, ({ createdAt, merchantId }) => ({
    at: createdAt,
    id: merchantId,
  }))
  return { items: items.map(merchantView), nextCursor }
}

async function rotateApiKey({ merchants, context }: Workplace, options: { overlapMinutes: number }, id: string) {
  const { webApiKey } = accepted(await merchants.rotateApiKey(id, options.overlapMinutes, context))
  return { id, webApiKey }
}

async function rotateSecrets(
  { merchants, context }: Workplace,
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

/** Each field that is another now: before → after. */
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
  none: 'No merchants found.',
}

/** Nothing of a secret but until when the one before is still valid. */
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
