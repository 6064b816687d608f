import { callbacksProjection } from './callback-lists.js'
import { problemsProjection } from './event-problems.js'
import type { Projection } from './projection.js'
import { transferTermsProjection } from './search-term-documents.js'
import { transferEventsProjection } from './transfer-events.js'
import { totalsProjection } from './transfer-totals.js'
import { transfersProjection } from './transfers.js'

export const allProjections: readonly Projection[] = [
  transfersProjection,
  callbacksProjection,
  totalsProjection,
  transferEventsProjection,
  transferTermsProjection,
  problemsProjection,
]
