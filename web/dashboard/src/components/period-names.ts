import type { TextId } from '../app/texts'
import { lastDays, type Period, thisMonth } from './local-days'

/** The periods that have a name, in the order in which they are offered. */
export const namedPeriods: readonly (readonly [TextId, () => Period])[] = [
  ['common.today', () => lastDays(1)],
  ['common.yesterday', () => lastDays(1, 1)],
  ['common.last7Days', () => lastDays(7)],
  ['common.last30Days', () => lastDays(30)],
  ['common.thisMonth', thisMonth],
]

/** Returns the name of a period, or `undefined` if it has none. */
export function periodName(from: string | undefined, to: string | undefined): TextId | undefined {
  return namedPeriods.find(([, period]) => period().from === from && period().to === to)?.[0]
}
