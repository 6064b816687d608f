import { callbacksProjection } from './callbacks.js'
import { problemsProjection } from './problems.js'
import type { Projection } from './projection.js'
import { totalsProjection } from './totals.js'
import { transferEventsProjection } from './transfer-events.js'
import { transferTermsProjection } from './transfer-terms.js'
import { transfersProjection } from './transfers.js'

export const allProjections: readonly Projection[] = [
  transfersProjection,
  callbacksProjection,
  totalsProjection,
  transferEventsProjection,
  transferTermsProjection,
  problemsProjection,
]
