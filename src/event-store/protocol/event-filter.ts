import type { EventFilter } from '../embedded/persistent/group-definition.js'
import type { StoredEvent } from '../embedded/streams/stream-reader.js'
import { unforeseen } from './call-error.js'

const maxRegexLength = 4_096
const maxPrefixes = 1_000

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

/** Prefixes are or-ed; neither expression nor prefixes: nothing matches. @throws CallError when the expression is none */
export function matcherOf({
  on,
  regex,
  prefixes,
}: EventFilter): (event: Pick<StoredEvent, 'stream' | 'type'>) => boolean {
  const expression = regex === undefined ? undefined : parseRegex(regex)
  return ({ stream, type }) => {
    const text = on === 'stream' ? stream : type
    return expression === undefined ? prefixes.some((prefix) => text.startsWith(prefix)) : expression.test(text)
  }
}

function parseRegex(text: string): RegExp {
  try {
    return new RegExp(text)
  } catch {
    throw unforeseen()
  }
}
