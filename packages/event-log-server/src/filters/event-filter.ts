import { createContext, Script } from 'node:vm'
import { status } from '@grpc/grpc-js'
import type { EventFilter } from '@transferd/event-log/groups'
import type { StoredEvent } from '@transferd/event-log/streams'
import { CallError, unexpectedError } from '../wire/call-error.js'
import { dotnetRegex } from './dotnet-regex.js'
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

/** Returns the filter of a request, or `undefined` if it has none. @throws CallError */
export function parseFilter(options: FilterOptions | undefined): EventFilter | undefined {
  const expression = options?.getStreamIdentifier() ?? options?.getEventType()
  if (options === undefined || expression === undefined) return undefined
  const regex = expression.getRegex()
  const prefixes = expression.getPrefixList()
  if (regex.length > maxRegexLength || prefixes.length > maxPrefixes) throw unexpectedError()
  return { on: options.hasEventType() ? 'type' : 'stream', ...(regex !== '' && { regex }), prefixes }
}

/** Returns for each event of a page whether it matches. @throws CallError if an expression takes too long */
export type Matcher = (events: readonly Named[]) => Promise<readonly boolean[]>

type Named = Pick<StoredEvent, 'stream' | 'type'>

/**
 * Returns the matcher of a filter: an event matches the expression, or any prefix if there is no expression.
 * @throws CallError if the expression is invalid
 */
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
    const matches = await budget.spend((withinMs) => testWithTimeout(expression, texts, withinMs))
    if (matches === undefined)
      throw new CallError(status.RESOURCE_EXHAUSTED, 'The expression of the filter takes too long.')
    return matches
  }
}

function parseRegex(text: string): RegExp {
  try {
    return dotnetRegex(text)
  } catch (error) {
    throw error instanceof CallError ? error : unexpectedError()
  }
}

/**
 * Returns whether an expression is quick with any short text. Backtracking multiplies with every repetition, and most with those of
 * groups. `^[^$].*`, which excludes system events, is quick.
 */
function isQuick(regex: string): boolean {
  if (/\\[1-9k]/.test(regex)) return false
  const bare = regex.replace(/\\./gs, 'x').replace(/\[[^\]]*\]/g, 'x')
  const repetitions = bare.match(/[*+{]/g)?.length ?? 0
  const options = bare.match(/\?/g)?.length ?? 0
  return repetitions <= 1 && options <= 4 && !/\)[*+?{]/.test(bare)
}

const sandbox = createContext({ expression: /./, texts: [] as string[] })
const testAll = new Script('texts.map((text) => expression.test(text))')

/** Tests texts. Returns `undefined` after the timeout, because a client's expression that backtracks must not block the server. */
function testWithTimeout(
  expression: RegExp,
  texts: readonly string[],
  timeout: number,
): readonly boolean[] | undefined {
  try {
    Object.assign(sandbox, { expression, texts })
    return testAll.runInContext(sandbox, { timeout }) as boolean[]
  } catch {
    return undefined
  } finally {
    Object.assign(sandbox, { texts: [] })
  }
}
