import { type Command, InvalidArgumentError, Option } from 'commander'
import { rangeProblem } from '../commands/address-index.js'
import type { Merchant } from '../domain/merchant/merchant.js'
import { callbackSecretKey } from '../domain/merchant/secret-keys.js'
import {
  defaultSettings,
  depositExpiryMinutes,
  type MerchantSettings,
  maxNameLength,
  type PaymentInstructions,
  paymentInstructionsProblem,
  type RequireSignature,
  rateLimitPerSecond,
  settingsProblem,
  signedCreates,
} from '../domain/merchant/settings.js'
import { pageOfAll } from '../queries/list-page.js'
import { accepted, answer, answerPage, findMerchant, type PageOptions, Refused, UsageError } from './command.js'
import { addKeyCommands, keyView } from './merchant-keys.js'
import { amount, integer, text, tolerance, visible } from './options.js'
import type { Workplace } from './workplace.js'

const defaultOverlapMinutes = 1440

interface SettingOptions {
  name?: string
  callbackUrl?: string
  allowIp?: string[]
  sandbox?: boolean
  autoCancelMismatch?: boolean
  rateLimit?: number
  requireNativeHash?: boolean
  requireSignature?: RequireSignature | false
  callbackOnCreate?: boolean
  returnUrl?: string | false
  frameAncestor?: string[] | false
  instructions?: PaymentInstructions[] | false
  depositExpiryMinutes?: number
  mismatchTolerance?: bigint
  manualControlAbove?: bigint | false
  minAmount?: bigint
  maxAmount?: bigint
}

export function addMerchantCommands(program: Command): void {
  const merchants = program.command('merchants').description('register merchants and change them')
  const create = merchants.command('create').description('register a merchant; its credentials are shown this once')
  answer(addSettings(create, true), createMerchant, 'may be new')
  answer(merchants.command('show <id>').description('settings and state of a merchant'), showMerchant)
  answerPage(merchants.command('list').description('all merchants, newest first'), listMerchants)
  const set = merchants.command('set <id>').description('change settings; what is not named stays')
  answer(addSettings(set, false), changeSettings)
  const rotateKey = merchants.command('rotate-key <id>').description('issue another main WebApiKey')
  answer(rotateKey.addOption(overlap()), rotateApiKey)
  addKeyCommands(merchants)
  const rotateSecret = merchants.command('rotate-secret <id>').description('issue other secrets')
  const only = new Option('--only <secret>', 'rotate one of the two').choices(['secretKey', 'webhookSecret'])
  answer(rotateSecret.addOption(only).addOption(overlap()), rotateSecrets)
  answer(
    merchants.command('suspend <id>').description('refuse all requests of a merchant'),
    async ({ merchants, context }: Workplace, _options: object, id: string) =>
      changedMerchant(accepted(await merchants.suspend(id, context))),
  )
  answer(
    merchants.command('resume <id>').description('accept requests of a merchant again'),
    async ({ merchants, context }: Workplace, _options: object, id: string) =>
      changedMerchant(accepted(await merchants.resume(id, context))),
  )
}

function overlap(): Option {
  return new Option('--overlap-minutes <n>', 'how long the one before stays valid; 0 revokes it at once')
    .argParser(integer(0, 525_600))
    .default(defaultOverlapMinutes)
}

function addSettings(command: Command, creating: boolean): Command {
  const option = (flags: string, description: string) => new Option(flags, description).makeOptionMandatory(creating)
  command
    .addOption(option('--name <name>', 'shown to customers').argParser(text(maxNameLength)))
    .addOption(option('--callback-url <url>', 'where status callbacks go').argParser(visible))
    .option('--allow-ip <cidr>', 'an address or range that may call; repeat it for several', range)
    .option('--sandbox', 'for trying things out: may use loopback and plain http')
    .option('--auto-cancel-mismatch', 'cancel deposits whose amount differs')
    .option('--mismatch-tolerance <amount>', 'a difference up to this is no mismatch', tolerance)
    .option('--manual-control-above <amount>', 'a person looks at deposits of more', amount)
    .option('--rate-limit <per second>', 'requests per second', integer(rateLimitPerSecond.min, rateLimitPerSecond.max))
    .option(
      '--deposit-expiry-minutes <n>',
      'time to finish a deposit, 15 to 1440',
      integer(depositExpiryMinutes.min, depositExpiryMinutes.max),
    )
    .option('--min-amount <amount>', 'smallest amount of a transfer', amount)
    .option('--max-amount <amount>', 'largest amount of a transfer', amount)
    .option('--require-native-hash', 'refuse native deposits without a hashCode')
    .addOption(
      new Option('--require-signature [creates]', 'refuse these without a valid X-Signature')
        .choices(signedCreates.filter((creates) => creates !== 'none'))
        .preset('all'),
    )
    .option('--no-require-signature', 'accept all creates without X-Signature')
    .option('--callback-on-create', 'send a callback for the creation too')
    .option('--return-url <url>', 'where the payment page sends the customer back to', visible)
    .option('--frame-ancestor <origin>', 'an origin that may frame the payment page; repeat it for several', listed)
    .option(
      '--instructions <code=text>',
      'how customers pay by this manual payment method, as the payment page shows it; repeat it for several',
      instruction,
    )
  if (creating) return command
  return command
    .option('--no-allow-ip', 'nobody may call')
    .option('--no-sandbox', 'a live merchant')
    .option('--no-auto-cancel-mismatch', 'complete deposits whose amount differs')
    .option('--no-manual-control-above', 'complete deposits of any amount')
    .option('--no-require-native-hash', 'accept native deposits without a hashCode')
    .option('--no-callback-on-create', 'no callback for the creation')
    .option('--no-return-url', 'no way back from the payment page')
    .option('--no-frame-ancestor', 'nobody may frame the payment page')
    .option('--no-instructions', 'the payment page tells customers to ask the merchant')
}

function range(text: string, before: string[] | boolean | undefined): string[] {
  if (rangeProblem(text)) throw new InvalidArgumentError('It must be an IP address or a CIDR range.')
  return listed(text, before)
}

function listed(text: string, before: string[] | boolean | undefined): string[] {
  return [...(Array.isArray(before) ? before : []), text]
}

/** Lines are real ones, or `\\n` where a shell makes that easier. */
function instruction(text: string, before: PaymentInstructions[] | boolean | undefined): PaymentInstructions[] {
  const [, code, words] = /^(\d{1,4})=(.+)$/s.exec(text) ?? []
  if (!code || !words) throw new InvalidArgumentError("It must be a payment method's code, = and the text.")
  const one = { paymentMethod: Number(code), text: words.replaceAll('\\n', '\n').trim() }
  return [...(Array.isArray(before) ? before : []), one]
}

function settingsOf(options: SettingOptions): Partial<MerchantSettings> {
  const { allowIp, returnUrl, frameAncestor, rateLimit, mismatchTolerance, manualControlAbove, ...others } = options
  const { minAmount, maxAmount, requireSignature, instructions, ...same } = others
  const settings = {
    ...same,
    // `--no-allow-ip` arrives as false.
    allowIps: allowIp === undefined ? undefined : allowIp || [],
    returnUrl: returnUrl === false ? null : returnUrl,
    frameAncestors: frameAncestor === undefined ? undefined : frameAncestor || [],
    paymentInstructions: instructions === undefined ? undefined : instructions || [],
    rateLimitPerSecond: rateLimit,
    mismatchToleranceMinor: mismatchTolerance,
    manualControlAboveMinor: manualControlAbove === false ? null : manualControlAbove,
    requireSignature: requireSignature === false ? 'none' : requireSignature,
    minAmountMinor: minAmount,
    maxAmountMinor: maxAmount,
    json: undefined,
  }
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
}

/** @throws UsageError */
async function checkSettings(settings: MerchantSettings): Promise<void> {
  const { callbackUrlProblem } = await import('../callbacks/deliver/guard.js')
  const problem = callbackUrlProblem(settings.callbackUrl, settings.sandbox) ?? settingsProblem(settings)
  if (problem) throw new UsageError(problem)
}

/** Of those given only: a method may have left the catalogue since. @throws UsageError */
function checkInstructions(
  { paymentInstructions = [] }: Partial<MerchantSettings>,
  { configuration }: Workplace,
): void {
  const problem = paymentInstructionsProblem(paymentInstructions, configuration.paymentMethods)
  if (problem) throw new UsageError(problem)
}

async function createMerchant(workplace: Workplace, options: SettingOptions) {
  const { merchants, context } = workplace
  const { loopback } = await import('../runtime/sandbox.js')
  const given = settingsOf(options)
  const allowIps = given.sandbox ? loopback : []
  const settings = { ...defaultSettings(given.sandbox === true), allowIps, ...given } as MerchantSettings
  await checkSettings(settings)
  checkInstructions(given, workplace)
  if (settings.allowIps.length === 0) {
    console.error(
      'transferd: no --allow-ip was given, so nobody may call as this merchant yet (merchants set --allow-ip)',
    )
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
  await checkSettings({ ...before.settings, ...changes })
  checkInstructions(changes, workplace)
  if (before.settings.sandbox && changes.sandbox === false) await refuseSandboxMerchant(workplace, id)
  const result = accepted(await merchants.changeSettings(id, changes, context))
  if (changes.sandbox === false) {
    await goLive(workplace)
    // The default of sandbox merchants stays, unlike that of merchants that are live from the start.
    if (result.merchant.settings.requireSignature === 'none') {
      console.error('transferd: withdrawals of this merchant need no X-Signature (merchants set --require-signature)')
    }
  }
  // Another endpoint is not the one that was disabled.
  if (!result.changed || !changes.callbackUrl || before.callbacksDisabled === null) return changedMerchant(result)
  return changedMerchant(accepted(await merchants.enableCallbacks(id, context)))
}

/** Beside a running service, which does the same as soon as it knows. */
async function goLive(workplace: Workplace): Promise<void> {
  const { configuration, merchants, context } = workplace
  const { closeSandbox } = await import('../runtime/sandbox.js')
  const { messageWarnings } = await import('../runtime/going-live.js')
  for (const warning of messageWarnings(configuration)) console.error(`transferd: ${warning}`)
  try {
    const closed = await closeSandbox(configuration.dataDirectory, merchants, await workplace.allMerchants(), context)
    for (const merchantId of closed)
      console.error(`transferd: the sandbox is over: its merchant ${merchantId} is suspended`)
  } catch (error) {
    // The merchant is live, and its credentials are shown this once, whatever becomes of the sandbox's.
    console.error(
      `transferd: the sandbox is not closed yet, a start of the service does it: ${(error as Error).message}`,
    )
  }
}

/** Its credentials were shown to whoever tried the service out. @throws Refused */
async function refuseSandboxMerchant({ merchants }: Workplace, id: string): Promise<void> {
  const { sandboxActor } = await import('../runtime/sandbox.js')
  if ((await merchants.registeredBy(id)) !== sandboxActor) return
  throw new Refused('This is the merchant of the sandbox, whose credentials were shown: create another one.')
}

async function showMerchant(workplace: Workplace, _options: object, id: string) {
  return merchantView(await findMerchant(workplace, id))
}

async function listMerchants(workplace: Workplace, options: PageOptions) {
  const merchants = await workplace.allMerchants()
  const { items, nextCursor } = pageOfAll(merchants, options, ({ createdAt, merchantId }) => ({
    time: createdAt,
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

/** Nothing of a secret but until when the one before is still valid. */
function merchantView({ merchantId, settings, ...merchant }: Merchant) {
  const { mismatchToleranceMinor, manualControlAboveMinor, minAmountMinor, maxAmountMinor, ...same } = settings
  return {
    id: merchantId,
    ...same,
    mismatchTolerance: Number(mismatchToleranceMinor) / 100,
    manualControlAbove: manualControlAboveMinor === null ? null : Number(manualControlAboveMinor) / 100,
    minAmount: Number(minAmountMinor) / 100,
    maxAmount: Number(maxAmountMinor) / 100,
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
