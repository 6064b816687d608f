import { bankAccountsProjection, bankDaysProjection, bankPaymentsProjection } from './bank-lists.js'
import { callbacksProjection } from './callback-lists.js'
import { problemsProjection } from './problems-projection.js'
import type { Projection } from './projection.js'
import { totalsProjection } from './transfer-totals.js'
import { transferEventsProjection, transfersProjection } from './transfers-projection.js'

export const allProjections: readonly Projection[] = [
  transfersProjection,
  callbacksProjection,
  totalsProjection,
  transferEventsProjection,
  problemsProjection,
  bankPaymentsProjection,
  bankDaysProjection,
  bankAccountsProjection,
]

export class UnknownProjectionError extends Error {
  override readonly name = 'UnknownProjectionError'
}

/** @throws UnknownProjectionError */
export function projectionNamed(name: string): Projection {
  const found = allProjections.find((projection) => projection.name === name)
  if (found) return found
  const names = allProjections.map((projection) => projection.name).join(', ')
  throw new UnknownProjectionError(`unknown projection ${name}: use one of ${names}`)
}
