import { createContext, Script } from 'node:vm'
import { status } from '@grpc/grpc-js'
import type { EventFilter } from '@transferd/event-log/groups'
import type { StoredEvent } from '@transferd/event-log/streams'
import { CallError, unforeseen } from '../wire/call-error.js'
import type { MatchingBudget } from './matching-budget.js'

const maxRegexLength = 4_096
const maxPrefixes = 1_000
const quickTextLength = 256

interface Expression {
  getRegex(): string
  getPrefixList(): string[]
}

interface FilterOptions {
  hasStreamIdentifier(): boolean
  getStreamIdentifier(): Expression | undefined
  hasEventType(): boolean
  getEventType(): Expression | undefined
}

/** Undefined when nothing is filtered. @throws CallError */
export function filterSpecOf(options: FilterOptions | undefined): EventFilter | undefined {
  const expression = options?.getStreamIdentifier() ?? options?.getEventType()
  if (options === undefined || expression === undefined) return undefined
  const regex = expression.getRegex()
  const prefixes = expression.getPrefixList()
  if (regex.length > maxRegexLength || prefixes.length > maxPrefixes) throw unforeseen()
  return { on: options.hasEventType() ? 'type' : 'stream', ...(regex !== '' && { regex }), prefixes }
}

/** Says of each event of a page whether it is wanted. @throws CallError where an expression takes too long */
export type Matcher = (events: readonly Named[]) => Promise<readonly boolean[]>

type Named = Pick<StoredEvent, 'stream' | 'type'>

/** Prefixes are or-ed; neither expression nor prefixes: nothing matches. @throws CallError when the expression is none */
export function matcherOf({ on, regex, prefixes }: EventFilter, budget: MatchingBudget): Matcher {
  const textOf = ({ stream, type }: Named) => (on === 'stream' ? stream : type)
  if (regex === undefined) {
    return async (events) => events.map((event) => prefixes.some((prefix) => textOf(event).startsWith(prefix)))
  }
  const expression = parseRegex(regex)
  const quick = isQuick(regex)
  return async (events) => {
    const texts = events.map(textOf)
    const isShort = texts.every((text) => text.length <= quickTextLength)
    if (quick && isShort) return texts.map((text) => expression.test(text))
    const wanted = await budget.spend((withinMs) => testInTime(expression, texts, withinMs))
    if (wanted === undefined)
      throw new CallError(status.RESOURCE_EXHAUSTED, 'The expression of the filter takes too long.')
    return wanted
  }
}

function parseRegex(text: string): RegExp {
  try {
    return new RegExp(text)
  } catch {
    throw unforeseen()
  }
}

/**
 * Whether an expression cannot take long with a short text: backtracking multiplies with every repetition, and most of
 * all with those of groups. `^[^$].*`, which leaves out system events, is of this kind.
 */
function isQuick(regex: string): boolean {
  if (/\\[1-9k]/.test(regex)) return false
  const bare = regex.replace(/\\./gs, 'x').replace(/\[[^\]]*\]/g, 'x')
  const repetitions = bare.match(/[*+{]/g)?.length ?? 0
  const options = bare.match(/\?/g)?.length ?? 0
  return repetitions <= 1 && options <= 4 && !/\)[*+?{]/.test(bare)
}

const guarded = createContext({ expression: /./, texts: [] as string[] })
const testAll = new Script('texts.map((text) => expression.test(text))')

/** An expression of a client that backtracks for ever must not stop the server: it is broken off, which is undefined. */
function testInTime(expression: RegExp, texts: readonly string[], timeout: number): readonly boolean[] | undefined {
  try {
    Object.assign(guarded, { expression, texts })
    return testAll.runInContext(guarded, { timeout }) as boolean[]
  } catch {
    return undefined
  } finally {
    Object.assign(guarded, { texts: [] })
  }
}
