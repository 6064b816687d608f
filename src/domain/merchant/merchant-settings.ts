import { isVisible } from '../../kernel/text.js'
import { violate } from '../decider.js'
import { isManual, type PaymentMethod } from '../payment-method.js'
import type { FieldViolation, Violation } from '../rules.js'
import type { WithdrawalLimit } from '../withdrawal-limits.js'
import type { MerchantSettings, PaymentInstructions, RequireSignature } from './merchant-events.js'

// The bounds and defaults of a merchant's settings, and the rules for new values. Every caller that accepts settings checks them here.

export const signedCreates = ['none', 'withdrawals', 'all'] as const satisfies readonly RequireSignature[]
export const maxNameLength = 128
export const rateLimitPerSecond = { min: 1, max: 100_000 } as const
/** A bank transfer can take days. A wallet payment cannot, so its deposits expire after {@link maxWalletExpiryMinutes} at the latest. */
export const depositExpiryMinutes = { min: 15, max: 20_160 } as const
export const maxWalletExpiryMinutes = 1440
/** How long a rotated credential stays valid in addition to the new one. 0 revokes it immediately. */
export const overlapMinutes = { min: 0, max: 525_600, usual: 1440 } as const
/** The largest amount that an event can hold. */
const maxSettingMinor = 99_999_999_999_999n
export const amountSettings = [
  'mismatchToleranceMinor',
  'manualControlAboveMinor',
  'approvalAboveMinor',
  'minAmountMinor',
  'maxAmountMinor',
] as const satisfies readonly (keyof MerchantSettings)[]
const maxUrlLength = 2048
/** All origins are sent in one header. */
const maxFrameAncestors = 20
const maxInstructions = 50
export const maxLimitCount = 1_000_000
const maxInstructionsLength = 2_000

/**
 * Warnings about callbacks to a URL: they are refused; they are refused once a live merchant exists, because the URL leads to loopback; or
 * its host name does not resolve now.
 */
export const endpointWarnings = ['refused', 'refused-once-live', 'unresolved'] as const
export type EndpointWarning = (typeof endpointWarnings)[number]

/** Returns the settings of a new merchant. Name, callback URL and allow-list have no default. */
export function defaultSettings(sandbox: boolean) {
  return {
    sandbox,
    autoCancelMismatch: false,
    mismatchToleranceMinor: 0n,
    manualControlAboveMinor: null,
    approvalAboveMinor: null,
    withdrawalLimits: [],
    approvalOverDay: false,
    rateLimitPerSecond: 100,
    depositExpiryMinutes: 30,
    minAmountMinor: 1_00n,
    maxAmountMinor: 999_999_99n,
    requireNativeHash: false,
    // A hashCode covers neither the account that money is sent to nor its owner.
    requireSignature: sandbox ? 'none' : 'withdrawals',
    callbackOnCreate: false,
    callbackOnMoney: false,
    returnUrl: null,
    frameAncestors: [],
    paymentInstructions: [],
  } as const
}

/** Returns the first violation of new values, each checked individually. Unchanged settings are not checked again. */
export function givenSettingsProblem(given: Partial<MerchantSettings>): FieldViolation | undefined {
  const { name } = given
  if (name !== undefined && (name.trim() === '' || name.length > maxNameLength)) {
    return { field: 'name', ...violate('text-length', { most: maxNameLength }) }
  }
  for (const setting of ['name', 'callbackUrl', 'returnUrl'] as const) {
    if (!isVisible(given[setting] ?? '')) return { field: setting, ...violate('hidden-characters') }
  }
  for (const [setting, { min, max }] of Object.entries({ rateLimitPerSecond, depositExpiryMinutes })) {
    const value = given[setting as 'rateLimitPerSecond' | 'depositExpiryMinutes']
    if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) continue
    return { field: setting, ...violate('whole-number', { least: min, most: max }) }
  }
  for (const setting of amountSettings) {
    const value = given[setting]
    if (value === undefined || value === null) continue
    const isTolerance = setting === 'mismatchToleranceMinor'
    if (isTolerance && value < 0n) return { field: setting, ...violate('too-small', { least: 0 }) }
    if (!isTolerance && value <= 0n) return { field: setting, ...violate('above', { limit: 0 }) }
    if (value > maxSettingMinor) return { field: setting, ...violate('amount-too-large', { largest: maxSettingMinor }) }
  }
  const problem = withdrawalLimitsProblem(given.withdrawalLimits ?? [])
  return problem && { field: 'withdrawalLimits', ...problem }
}

function withdrawalLimitsProblem(limits: readonly WithdrawalLimit[]): Violation | undefined {
  if (new Set(limits.map(({ per, hours }) => `${per} ${hours}`)).size < limits.length) return violate('limits-repeated')
  for (const { count, amountMinor } of limits) {
    if (count === null && amountMinor === null) return violate('limit-empty')
    const isCount = count === null || (Number.isInteger(count) && count >= 1 && count <= maxLimitCount)
    if (!isCount) return violate('whole-number', { least: 1, most: maxLimitCount })
    if (amountMinor !== null && amountMinor <= 0n) return violate('above', { limit: 0 })
    if (amountMinor !== null && amountMinor > maxSettingMinor)
      return violate('amount-too-large', { largest: maxSettingMinor })
  }
  return undefined
}

/** Returns the first violation of settings in combination, apart from their addresses (src/commands/merchant/addresses.ts). */
export function settingsProblem(settings: MerchantSettings): FieldViolation | undefined {
  const { returnUrl, frameAncestors, sandbox, minAmountMinor, maxAmountMinor } = settings
  const returning = returnUrl === null ? undefined : returnUrlProblem(returnUrl, sandbox)
  if (returning) return { field: 'returnUrl', ...returning }
  const framing = frameAncestors.map((origin) => frameAncestorProblem(origin, sandbox)).find(Boolean)
  if (framing) return { field: 'frameAncestors', ...framing }
  if (frameAncestors.length > maxFrameAncestors) {
    return { field: 'frameAncestors', ...violate('too-many-items', { most: maxFrameAncestors }) }
  }
  return minAmountMinor > maxAmountMinor ? { field: 'minAmountMinor', ...violate('min-above-max') } : undefined
}

function returnUrlProblem(text: string, sandbox: boolean): Violation | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || text.trim() !== text || text.length > maxUrlLength) return violate('url-invalid')
  if (url.username || url.password) return violate('url-with-credentials')
  return schemeProblem(url, sandbox)
}

const originPattern = /^https?:\/\/[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:\d{1,5})?$/

/** Stricter than the URL standard, which allows a semicolon in a host: it would start a new directive of the Content-Security-Policy. */
function frameAncestorProblem(text: string, sandbox: boolean): Violation | undefined {
  const url = originPattern.test(text) && URL.canParse(text) ? new URL(text) : undefined
  return url?.origin === text ? schemeProblem(url, sandbox) : violate('origin-invalid')
}

/** Checks new instructions only, because a method of existing ones may have left the catalogue. */
export function paymentInstructionsProblem(
  instructions: readonly PaymentInstructions[],
  methods: readonly PaymentMethod[],
): Violation | undefined {
  if (instructions.length > maxInstructions) return violate('too-many-items', { most: maxInstructions })
  const codes = instructions.map(({ paymentMethod }) => paymentMethod)
  if (new Set(codes).size < codes.length) return violate('instructions-repeated')
  const wrong = codes.find((code) => !isManual(methods, code))
  if (wrong !== undefined) return violate('method-not-manual', { method: wrong })
  for (const { paymentMethod, text } of instructions) {
    if (text.trim() === '' || text.length > maxInstructionsLength) {
      return violate('instructions-length', { method: paymentMethod, most: maxInstructionsLength })
    }
    // Hidden characters could make the displayed account differ from the stored one.
    if (!text.split('\n').every(isVisible)) return violate('instructions-hidden-characters', { method: paymentMethod })
  }
  return undefined
}

/** Returns the rule that a URL violates which must start with https://, or in the sandbox with http://. */
export function schemeProblem({ protocol }: URL, sandbox: boolean): Violation | undefined {
  if (protocol === 'https:' || (sandbox && protocol === 'http:')) return undefined
  return violate(sandbox ? 'url-not-http' : 'url-not-https')
}
