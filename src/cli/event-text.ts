import { isOpenRecord, isWords, storyFields, timelineFields } from '../domain/event-summary.js'
import type { AuditedEntry } from '../queries/transfer-history.js'
import { fieldTable, isList, isObject } from './field-table.js'
import { eventName, fieldName, type Names } from './names.js'
import { exactTimes, gap, outputWidth, table } from './readable.js'

interface EventToShow {
  readonly type: string
  readonly actor: string
  readonly data: { readonly [field: string]: unknown }
}

/** Ids and flags for programs, which `--json` and `events show` print. */
const technical: ReadonlySet<string> = new Set([
  ...[
    'trackingId',
    'merchantId',
    'kind',
    'referenceId',
    'at',
    'callbackOnCreate',
    'callbackOnMoney',
    'hashId',
    'webhookId',
    'transferRevision',
  ],
])
/** The fields that say what an event changed, in which no and none are values. */
const changing: ReadonlySet<string> = new Set(['changes', 'approvalAboveMinor', 'withdrawalLimits', 'approvalOverDay'])

/** Returns an event as `who: what happened: amount; facts; “reason”`. */
export function sentenceOf(event: EventToShow, names: Names): string {
  return sentence(event, factsOf(event), names)
}

/** Returns the fields that state something. In a nested object too, a field that does not apply is omitted. */
function factsOf(event: EventToShow): readonly Fact[] {
  const { actor } = event
  const amount = amountOf(event)
  const { shown, rest } = timelineFields(event)
  const facts = [...shown, ...rest].filter(([name, value]) => {
    if (technical.has(name) || name === 'amountMinor' || isNothing(value)) return changing.has(name)
    const isAmount = typeof value !== 'object' && name.endsWith('Minor') && String(value) === String(amount)
    return !isWords(event, name) && !isAmount && !(name === 'by' && value === actor)
  })
  return facts.map(([name, value]) => {
    return [name, changing.has(name) || isOpenRecord(name, value) ? value : withoutNothing(value)]
  })
}

function amountOf(event: EventToShow): unknown {
  return storyFields(event).amountMinor ?? (event.type.startsWith('Wallet') ? event.data.amountMinor : undefined)
}

function sentence(event: EventToShow, facts: readonly Fact[], names: Names): string {
  const { type, actor } = event
  const amount = amountOf(event)
  const { words } = storyFields(event)
  const name = amount === undefined ? eventName(type) : `${eventName(type)}: ${names.value('Minor', amount)}`
  const texts = facts.map(([field, value]) => {
    const isNested = typeof value === 'object' && !Array.isArray(value)
    return `${fieldName(field)}${isNested ? ':' : ''} ${names.value(field, value)}`
  })
  return `${names.actor(actor)}: ${[name, ...texts, ...words.map((each) => `“${names.value('', each)}”`)].join('; ')}`
}

type Fact = readonly [field: string, value: unknown]

/** Returns whether a value states only that something does not apply. */
function isNothing(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === '' || value === 0) return true
  return Array.isArray(value) && value.length === 0
}

function withoutNothing(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([, each]) => !isNothing(each)))
}

/** Returns a table with a line per event, wrapped at the width of the terminal, and the nested fields of an event below its line. */
export function storyText(story: readonly AuditedEntry[], names: Names): string {
  const times = exactTimes(story.map(({ at }) => at))
  const rows = story.map((entry, index) => {
    const facts = factsOf(entry)
    const inLine = facts.filter((fact) => !isNested(fact))
    const nested = Object.fromEntries(facts.filter(isNested))
    return { ...entry, time: times[index], sentence: sentence(entry, inLine, names), nested }
  })
  const columns = {
    POSITION: { cell: 'position', align: 'right' },
    TIME: 'time',
    SOURCE: 'source',
    EVENT: 'sentence',
  } as const
  return table(rows, columns, outputWidth(), ({ nested }, indent) => fieldTable(nested, names, indent + gap))
}

function isNested([name, value]: Fact): boolean {
  return !isOpenRecord(name, value) && (isObject(value) || isList(value))
}
