import type { EventStore } from '../../event-store/event-store.js'
import { parseTime } from '../../kernel/time.js'
import type { StatementLine } from '../../queries/statement.js'
import type { Moment } from './point-in-time.js'
import { statementAt } from './statement-as-of.js'
import { merchantAt, transferAt } from './transfer-state.js'

export type StateKind = 'transfer' | 'merchant' | 'statement'

/** As `AuditStateAnswer` of the dashboard says it. */
export interface StateAnswer {
  readonly of: StateKind
  readonly id: string
  readonly position: string | null
  readonly recordedAt: string | null
  readonly state: { readonly [field: string]: unknown } | null
  readonly statement: readonly StatementLine[] | null
}

/**
 * What somebody asked for by kind and id: a statement is `<merchantId>`, or `<merchantId>/<2026-11-21>` for one day. Undefined when it was not
 * there then. @throws StoreUnavailableError, UnreadableEventError
 */
export async function stateAt(
  store: Pick<EventStore, 'readAll' | 'readStream'>,
  of: StateKind,
  id: string,
  moment: Moment | undefined,
): Promise<StateAnswer | 'malformed' | undefined> {
  if (of !== 'statement') {
    const found = await (of === 'transfer' ? transferAt : merchantAt)(store, id, moment)
    return found && { of, id, ...found, statement: null }
  }
  const [merchantId = '', day, ...rest] = id.split('/')
  if (rest.length > 0 || (day !== undefined && (!/^\d{4}-\d\d-\d\d$/.test(day) || !parseTime(day)))) return 'malformed'
  if (!(await merchantAt(store, merchantId, moment))) return undefined
  const { position, recordedAt, lines } = await statementAt(store, merchantId, day, moment)
  return { of, id, position, recordedAt, state: null, statement: lines }
}
