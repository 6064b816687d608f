import { violate } from '../../domain/decider.js'
import type { MerchantSettings } from '../../domain/merchant/merchant-events.js'
import {
  amountSettings,
  givenSettingsProblem,
  paymentInstructionsProblem,
  settingsProblem,
} from '../../domain/merchant/merchant-settings.js'
import { type Currency, isPayable } from '../../domain/money.js'
import type { PaymentMethod } from '../../domain/payment-method.js'
import type { FieldViolation } from '../../domain/rules.js'
import type { CommandContext } from '../handle-command.js'
import { rangeProblem } from './addresses.js'
import type { CallbackNetworks } from './callback-networks.js'
import type { MerchantCommands, MerchantResult } from './merchant-commands.js'

interface SettingsFrame {
  readonly currency: Currency
  readonly paymentMethods: readonly PaymentMethod[]
  readonly networks: CallbackNetworks
}

/** Returns why the given settings are invalid together with the existing ones, or `undefined` if they are valid. */
export function settingsRefusal(
  before: Partial<MerchantSettings>,
  given: Partial<MerchantSettings>,
  { currency, paymentMethods, networks }: SettingsFrame,
): FieldViolation | undefined {
  const settings = { ...before, ...given } as MerchantSettings
  const problem = givenSettingsProblem(given) ?? addressProblem(settings, given, networks) ?? settingsProblem(settings)
  if (problem) return problem
  const tooFine = amountSettings.find((setting) => !isPayable(currency, given[setting] ?? 0n))
  if (tooFine) return { field: tooFine, ...violate('whole-amount', { currency: currency.code }) }
  // Existing instructions are not checked, because their method may have been removed from the catalogue.
  const instructions = paymentInstructionsProblem(given.paymentInstructions ?? [], paymentMethods)
  return instructions && { field: 'paymentInstructions', ...instructions }
}

function addressProblem(
  { callbackUrl, sandbox }: MerchantSettings,
  given: Partial<MerchantSettings>,
  networks: CallbackNetworks,
): FieldViolation | undefined {
  // An unchanged URL may have become one that callbacks must not go to. The other settings can still be changed.
  const isEndpointGiven = given.callbackUrl !== undefined || given.sandbox !== undefined
  const problem = isEndpointGiven && networks.urlProblem(callbackUrl, sandbox)
  if (problem) return { field: 'callbackUrl', ...problem }
  const { allowIps = [] } = given
  const [wrong] = allowIps.flatMap((range) => rangeProblem(range) ?? [])
  return wrong && { field: 'allowIps', ...wrong }
}

/**
 * Changes settings. A new callback URL also enables callbacks, because it is not the endpoint that was disabled. A user of the dashboard
 * only proposes to raise or remove the threshold (docs/decisions/0041-second-administrator.md). `revision` is the one that the user saw.
 */
export async function changeMerchantSettings(
  merchants: Pick<MerchantCommands, 'execute'>,
  merchantId: string,
  changes: Partial<MerchantSettings>,
  context: CommandContext,
  revision?: number,
): Promise<MerchantResult> {
  const heldBy = context.actor.startsWith('user:') ? context.actor : undefined
  const result = await merchants.execute(merchantId, { type: 'ChangeSettings', changes, heldBy }, context, { revision })
  if (!result.accepted || changes.callbackUrl === undefined || result.merchant.callbacksDisabled === null) return result
  const enabled = await merchants.execute(merchantId, { type: 'EnableCallbacks' }, context)
  return enabled.accepted ? { ...enabled, changed: true } : enabled
}
