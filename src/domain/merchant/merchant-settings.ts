import { hiddenCharacters, isVisible } from '../../kernel/text.js'
import { formatTwoDecimals } from '../money.js'
import { isManual, type PaymentMethod } from '../payment-method.js'
import type { MerchantSettings, PaymentInstructions, RequireSignature } from './merchant-events.js'

/** A merchant's settings: their bounds and defaults, and what is refused. Whoever takes settings from somebody asks here. */

export const signedCreates = ['none', 'withdrawals', 'all'] as const satisfies readonly RequireSignature[]

export const maxNameLength = 128
export const rateLimitPerSecond = { min: 1, max: 100_000 } as const
export const depositExpiryMinutes = { min: 15, max: 1440 } as const
/** How long a rotated credential stays valid beside the new one; 0 revokes it at once. */
export const overlapMinutes = { min: 0, max: 525_600, usual: 1440 } as const
/** What an amount of an event can hold. */
const maxSettingMinor = 99_999_999_999_999n
/** Settings that are amounts. */
export const amountSettings = [
  'mismatchToleranceMinor',
  'manualControlAboveMinor',
  'approvalAboveMinor',
  'minAmountMinor',
  'maxAmountMinor',
] as const satisfies readonly (keyof MerchantSettings)[]
const maxUrlLength = 2048
/** All of them are in one header. */
const maxFrameAncestors = 20
const maxInstructions = 50
const maxInstructionsLength = 2_000

/** What a merchant is registered with unless told otherwise; name, callback URL and allow-list have no default. */
export function defaultSettings(sandbox: boolean) {
  return {
    sandbox,
    autoCancelMismatch: false,
    mismatchToleranceMinor: 0n,
    manualControlAboveMinor: null,
    approvalAboveMinor: null,
    rateLimitPerSecond: 100,
    depositExpiryMinutes: 30,
    minAmountMinor: 1_00n,
    maxAmountMinor: 999_999_99n,
    requireNativeHash: false,
    // A hashCode covers neither the account that money is sent to nor its owner.
    requireSignature: sandbox ? 'none' : 'withdrawals',
    callbackOnCreate: false,
    returnUrl: null,
    frameAncestors: [],
    paymentInstructions: [],
  } as const
}

/** A setting that is refused, and why as a sentence. */
export interface SettingProblem {
  readonly setting: keyof MerchantSettings
  readonly message: string
}

/** What is wrong with settings that are given, each taken by itself: those that are kept were once given. */
export function givenSettingsProblem(given: Partial<MerchantSettings>): SettingProblem | undefined {
  const { name } = given
  if (name !== undefined && (name.trim() === '' || name.length > maxNameLength)) {
    return { setting: 'name', message: `The name must be 1 to ${maxNameLength} characters.` }
  }
  for (const setting of ['name', 'callbackUrl', 'returnUrl'] as const) {
    if (!isVisible(given[setting] ?? '')) return { setting, message: `It ${hiddenCharacters}.` }
  }
  for (const [setting, { min, max }] of Object.entries({ rateLimitPerSecond, depositExpiryMinutes })) {
    const value = given[setting as 'rateLimitPerSecond' | 'depositExpiryMinutes']
    if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) continue
    return { setting: setting as keyof MerchantSettings, message: `It must be a whole number from ${min} to ${max}.` }
  }
  for (const setting of amountSettings) {
    const value = given[setting]
    if (value === undefined || value === null) continue
    const mayBeNone = setting === 'mismatchToleranceMinor'
    if (value < (mayBeNone ? 0n : 1n)) {
      return { setting, message: mayBeNone ? 'It must not be below 0.' : 'It must be above 0.' }
    }
    if (value > maxSettingMinor)
      return { setting, message: `It must be at most ${formatTwoDecimals(maxSettingMinor)}.` }
  }
  return undefined
}

/**
 * What is wrong with a merchant's settings together, undefined when they will do. Addresses are not looked at: what the callback URL
 * and the allow-list may name is src/commands/merchant/callback-url.ts and src/commands/merchant/address-index.ts.
 */
export function settingsProblem(settings: MerchantSettings): SettingProblem | undefined {
  const { returnUrl, frameAncestors, sandbox, minAmountMinor, maxAmountMinor } = settings
  const returning = returnUrl === null ? undefined : returnUrlProblem(returnUrl, sandbox)
  if (returning) return { setting: 'returnUrl', message: returning }
  const framing = frameAncestors.map((origin) => frameAncestorProblem(origin, sandbox)).find(Boolean)
  if (framing) return { setting: 'frameAncestors', message: framing }
  if (frameAncestors.length > maxFrameAncestors) {
    return { setting: 'frameAncestors', message: `At most ${maxFrameAncestors} origins may frame the page.` }
  }
  if (minAmountMinor > maxAmountMinor) {
    return { setting: 'minAmountMinor', message: 'The smallest amount must not be above the largest.' }
  }
  return undefined
}

function returnUrlProblem(text: string, sandbox: boolean): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || text.length > maxUrlLength) return 'The return URL is not a URL.'
  if (url.username || url.password) return 'The return URL must not carry a user name or password.'
  return schemeProblem('The return URL', url, sandbox)
}

const originPattern = /^https?:\/\/[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:\d{1,5})?$/

/** Stricter than the URL standard, which lets a host hold a semicolon: in a Content-Security-Policy that would begin another directive. */
function frameAncestorProblem(text: string, sandbox: boolean): string | undefined {
  if (!originPattern.test(text) || !URL.canParse(text) || new URL(text).origin !== text) {
    return 'A frame ancestor must be an origin such as https://shop.example.com, in small letters and without a path.'
  }
  return schemeProblem('A frame ancestor', new URL(text), sandbox)
}

/** Asked of instructions that are given, not of those that are kept: a method may have left the catalogue since. */
export function paymentInstructionsProblem(
  instructions: readonly PaymentInstructions[],
  methods: readonly PaymentMethod[],
): string | undefined {
  if (instructions.length > maxInstructions) return `There can be instructions for ${maxInstructions} payment methods.`
  const codes = instructions.map(({ paymentMethod }) => paymentMethod)
  if (new Set(codes).size < codes.length) return 'There are instructions for one payment method twice.'
  const wrong = codes.find((code) => !isManual(methods, code))
  if (wrong !== undefined) return `${wrong} is no manual payment method of the catalogue (PAYMENT_METHODS).`
  for (const { paymentMethod, text } of instructions) {
    if (text.trim() === '' || text.length > maxInstructionsLength) {
      return `The instructions for ${paymentMethod} must be 1 to ${maxInstructionsLength} characters.`
    }
    // Another account could be shown than the one that is written.
    if (!text.split('\n').every(isVisible)) return `The instructions for ${paymentMethod} ${hiddenCharacters}.`
  }
  return undefined
}

function schemeProblem(what: string, { protocol }: URL, sandbox: boolean): string | undefined {
  if (protocol === 'https:' || (sandbox && protocol === 'http:')) return undefined
  return `${what} must start with https://${sandbox ? ' or http://' : ''}.`
}
