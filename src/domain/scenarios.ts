import type { Transfer } from './transfer/transfer.js'
import type { ChangeStatus, Settle } from './transfer/transfer-commands.js'
import type { TransferEvent, TransferKind } from './transfer/transfer-events.js'

/** The reaction of the wallet when the test customer pays. */
export type WalletBehaviour = 'pays' | 'pays-less' | 'declines' | 'asks-about-device' | 'times-out'

export type ScenarioStep =
  /** The customer of a hosted deposit pays. The customer of a native deposit is the merchant's program. */
  | { readonly type: 'Pay' }
  /** The time to pay ends. */
  | { readonly type: 'Expire' }
  /** The requested amount arrives, regardless of the status. */
  | { readonly type: 'Receive' }
  | { readonly type: 'Claim' | 'Complete' }
  | Pick<ChangeStatus, 'type' | 'message'>
  | Pick<Settle, 'type' | 'reason'>

export interface Scenario {
  readonly kind: TransferKind
  /** A transfer with this amount plays the scenario. Each amount exists once for each kind. */
  readonly amountMinor: bigint
  readonly steps: readonly ScenarioStep[]
  /** Defaults to `pays`. */
  readonly wallet?: WalletBehaviour
  /** Replaces the merchant's time to pay. */
  readonly secondsToPay?: number
  /** The time between a status change and its callback. */
  readonly callbackDelaySeconds?: number
  /** The types of the event that ends it. There are several if the merchant's settings decide. */
  readonly ends: readonly TransferEvent['type'][]
}

/** The values that a transfer of a sandbox merchant must have to play a scenario (docs/merchants/scenarios.md). */
export const scenarios = {
  completed: { kind: 'deposit', amountMinor: 66_01n, steps: [{ type: 'Pay' }], ends: ['TransferCompleted'] },
  mismatch: {
    ...{ kind: 'deposit', amountMinor: 66_02n, steps: [{ type: 'Pay' }], wallet: 'pays-less' },
    ends: ['TransferCompleted', 'TransferCancelled'],
  },
  declined: {
    ...{ kind: 'deposit', amountMinor: 66_03n, steps: [{ type: 'Pay' }, { type: 'Expire' }] },
    ...{ wallet: 'declines', secondsToPay: 5, ends: ['TransferCancelled'] },
  },
  'device-check': {
    ...{ kind: 'deposit', amountMinor: 66_04n, steps: [{ type: 'Pay' }], wallet: 'asks-about-device' },
    ends: ['TransferCompleted'],
  },
  'manual-control': {
    ...{ kind: 'deposit', amountMinor: 66_05n, steps: [{ type: 'Pay' }], wallet: 'times-out' },
    ends: ['TransferSentToManualControl'],
  },
  cancelled: {
    ...{ kind: 'deposit', amountMinor: 66_06n, steps: [{ type: 'Cancel', message: 'scenario' }] },
    ends: ['TransferCancelled'],
  },
  failed: {
    ...{ kind: 'deposit', amountMinor: 66_07n, steps: [{ type: 'Fail', message: 'scenario' }] },
    ends: ['TransferFailed'],
  },
  expired: {
    ...{ kind: 'deposit', amountMinor: 66_08n, steps: [{ type: 'Expire' }], secondsToPay: 2 },
    ends: ['TransferCancelled'],
  },
  'late-money': {
    ...{ kind: 'deposit', amountMinor: 66_09n, steps: [{ type: 'Expire' }, { type: 'Receive' }], secondsToPay: 2 },
    ends: ['LateFundsReceived'],
  },
  reopened: {
    ...{ kind: 'deposit', amountMinor: 66_10n, ends: ['TransferCompleted'] },
    steps: [{ type: 'Cancel', message: 'scenario' }, { type: 'Reopen', reason: 'scenario' }, { type: 'Complete' }],
  },
  'delayed-callback': {
    ...{ kind: 'deposit', amountMinor: 66_11n, steps: [{ type: 'Pay' }], callbackDelaySeconds: 10 },
    ends: ['TransferCompleted'],
  },
  'withdrawal-completed': {
    ...{ kind: 'withdrawal', amountMinor: 66_01n, steps: [{ type: 'Claim' }, { type: 'Complete' }] },
    ends: ['TransferCompleted'],
  },
  'withdrawal-cancelled': {
    ...{ kind: 'withdrawal', amountMinor: 66_06n, steps: [{ type: 'Cancel', message: 'scenario' }] },
    ends: ['TransferCancelled'],
  },
} as const satisfies { readonly [name: string]: Scenario }

export type ScenarioName = keyof typeof scenarios
export const scenarioNames = Object.keys(scenarios) as readonly ScenarioName[]

const referencePrefix = 'scenario-'
const byAmount: ReadonlyMap<string, Scenario> = new Map(
  scenarioNames.map((name) => [`${scenarios[name].kind} ${scenarios[name].amountMinor}`, scenarios[name]]),
)

/** Returns a `referenceId` with which a transfer of a sandbox merchant plays a scenario. `rest` distinguishes it from others. */
export function scenarioReference(name: ScenarioName, rest: string): string {
  return `${referencePrefix}${name}-${rest}`
}

/**
 * Returns the scenario that a transfer of a sandbox merchant plays, if any: by its `referenceId`, such as
 * `scenario-late-money-1`, otherwise by its amount.
 */
export function scenarioOf({
  kind,
  referenceId,
  amountMinor,
}: Pick<Transfer, 'kind' | 'referenceId' | 'amountMinor'>): Scenario | undefined {
  const isNamed = referenceId.startsWith(referencePrefix)
  const named = isNamed && scenarioNames.find((name) => referenceId.startsWith(scenarioReference(name, '')))
  if (named) return scenarios[named].kind === kind ? scenarios[named] : undefined
  return byAmount.get(`${kind} ${amountMinor}`)
}
