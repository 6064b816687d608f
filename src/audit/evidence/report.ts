import { streamPrefix, userStream } from '../../domain/streams.js'
import type { Json, JsonFields, OpenedEvidence, ProvenEvent } from './evidence.js'

type ReportLanguage = 'en' | 'tr'

/** The content of texts.json: all that a report contains besides the events. */
export interface ReportTexts {
  readonly css: string
  readonly rules: {
    /** The status after an event of the type. */
    readonly statuses: Texts
    /** The fields that a line omits. */
    readonly hidden: readonly string[]
    /** The fields that name the actor of an event or of a step. */
    readonly actors: readonly string[]
    /** The settings of the merchant that decide about transfers of a kind, in the order of the report. */
    readonly settings: { readonly [kind: string]: readonly string[] }
    /** The types of events that state what a user was allowed to do. */
    readonly people: readonly string[]
    /** The types of the merchant's events that the timeline contains. */
    readonly merchant: readonly string[]
  }
  readonly en: LanguageTexts
  readonly tr: LanguageTexts
}

interface LanguageTexts {
  readonly events: Texts
  readonly fields: Texts
  /** Values by `<field>.<value>`. */
  readonly values: Texts
  readonly report: Texts
}
interface Texts {
  readonly [name: string]: string
}

/**
 * Returns the report, which contains only the events, the disclosed fields and the texts. verify.py and verify.go contain the same
 * function and compare the bytes, so any change belongs in all three.
 */
export function reportOf(evidence: OpenedEvidence, texts: ReportTexts, language: ReportLanguage): string {
  const { events, trackingId, disclosed, checkpoint } = evidence
  const { css, rules } = texts
  const { report, fields: labels, values, events: names } = texts[language]
  const of = (kind: string) => events.filter(({ stream }) => stream.slice(0, stream.indexOf('-')) === kind)
  const own = of('transfer')
  const [first, last] = [own[0]!, own.at(-1)!]
  const currency = of('installation')[0]!.data
  const erasure = of('privacy').find(({ type }) => type === 'CustomerErased')

  const text = (name: string, parts: Texts = {}) =>
    Object.entries(parts).reduce((whole, [part, value]) => whole.replace(`{${part}}`, () => value), report[name]!)
  const label = (field: string) => known(labels, field) ?? field

  const money = (minor: bigint): string => {
    const digits = String(minor < 0n ? -minor : minor).padStart(3, '0')
    const whole = digits.slice(0, -2).replace(/(?<=\d)(?=(\d{3})+$)/g, report.group!)
    const cents = currency.decimals === 0 && digits.endsWith('00') ? '' : report.decimal + digits.slice(-2)
    return `${minor < 0n ? '-' : ''}${whole}${cents} ${currency.currency}`
  }
  const time = (iso: string) => `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`
  const recorded = (event: ProvenEvent) => time(new Date(event.recordedAtMs).toISOString())

  /** Returns the merchant's settings before an event, each with the event that set it. */
  const settingsBefore = (index: number) => {
    const settings = new Map<string, { readonly value: Json; readonly from: ProvenEvent }>()
    for (const from of of('merchant'))
      if (from.index < index)
        for (const [name, value] of Object.entries(fieldsIn(from.data.settings ?? from.data.changes)))
          settings.set(name, { value, from })
    return settings
  }
  const rolesOf = (userId: string) => of('user').filter(({ stream }) => stream === userStream(userId))
  const person = (actor: string, index: number): string => {
    const colon = Math.max(0, actor.indexOf(':'))
    const [kind, id] = [actor.slice(0, colon), actor.slice(colon + 1)]
    if (kind === 'user') {
      const before = rolesOf(id).filter((event) => event.index < index)
      const role = before.findLast(({ data }) => 'role' in data)?.data.role
      const name = before[0]?.data.name
      return name === undefined ? actor : `${name} (${valueText('role', role!, index)})`
    }
    if (kind === 'merchant') return `${settingsBefore(index).get('name')?.value ?? id} (${text('merchant')})`
    if (kind === 'cli') return `${id} (${text('cli')})`
    if (kind === 'system') return `${text('system')} (${id})`
    return actor === 'customer' ? text('customer') : actor
  }

  const valueText = (field: string, value: Json, index: number): string => {
    if (value === null) return text('none')
    if (value === true || value === false) return text(value ? 'yes' : 'no')
    if (typeof value === 'object') {
      const parts = Array.isArray(value)
        ? value.map((each) => valueText(field, each, index))
        : Object.entries(value).map(([name, each]) => `${label(name)} ${valueText(name, each, index)}`)
      return parts.length === 0 ? text('none') : parts.join(', ')
    }
    const given = String(value)
    if (field.endsWith('Minor') && /^-?[0-9]{1,30}$/.test(given)) return money(BigInt(given))
    if (field.endsWith('Ms')) return `${given} ms`
    if (/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/.test(given)) return time(given)
    if (rules.actors.includes(field)) return person(given, index)
    if (field === 'merchantIds' && given === first.data.merchantId)
      return String(settingsBefore(index).get('name')?.value ?? given)
    return known(values, `${field}.${given}`) ?? given
  }
  const isNothing = (value: Json): boolean => {
    if (value === null || value === false || value === '' || value === '0') return true
    return typeof value === 'object' && Object.keys(value).length === 0
  }

  /** Returns the personal fields of an event as label and value, and the number of the others. */
  const personal = ({ index, stream, data }: ProvenEvent): [string, string][] => {
    if (!('sealed' in data)) return []
    const isOfCustomer = !stream.startsWith(streamPrefix.bankEntries)
    if (erasure && isOfCustomer) return [[text('personal'), text('erased', { time: recorded(erasure) })]]
    const found = disclosed.get(index)
    if (!found) return [[text('personal'), text('notDisclosed')]]
    const shown = found.fields.map(({ field, value }): [string, string] => {
      const content = JSON.parse(value) as Json
      return [label(field), typeof content === 'string' ? content : value]
    })
    const rest = found.hashes.length - shown.length
    if (rest > 0) shown.push([text('personal'), text('restNotDisclosed', { count: String(rest) })])
    return shown
  }

  const lines: string[] = []
  const add = (...added: readonly string[]) => lines.push(...added)
  const leaf = (...of: readonly ProvenEvent[]) => of.map(({ index }) => `#${index}`).join(' ')
  const fact = (name: string, value: string, ...from: readonly ProvenEvent[]) =>
    add(`<tr><th>${escaped(name)}</th><td>${escaped(value)}</td><td class="leaf">${leaf(...from)}</td></tr>`)
  const section = (name: string, ...heads: readonly string[]) => {
    add('<section>', `<h2>${escaped(text(name))}</h2>`, '<table>')
    if (heads.length === 0) return
    const cells = heads.map((head) => `<th>${escaped(text(head))}</th>`).join('')
    add(`<thead><tr>${cells}<th class="leaf">${escaped(text('leaf'))}</th></tr></thead>`)
  }
  const endSection = () => add('</table>', '</section>')
  const row = (event: ProvenEvent, ...cells: readonly string[]) => {
    const time = `<td class="time">${escaped(recorded(event))}</td>`
    add(`<tr>${time}${cells.map((cell) => `<td>${cell}</td>`).join('')}<td class="leaf">${leaf(event)}</td></tr>`)
  }

  const requested = money(minorIn(first.data.amountMinor))
  const kind = first.type === 'DepositCreated' ? 'deposit' : 'withdrawal'
  const changed = own.findLast(({ type }) => Object.hasOwn(rules.statuses, type))!
  const status = values[`status.${rules.statuses[changed.type]}`]!
  const headline = text(kind, { amount: requested, status })

  add(
    '<!doctype html>',
    `<html lang="${language}">`,
    '<head>',
    '<meta charset="utf-8">',
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escaped(headline)}</title>`,
    `<style>${css}</style>`,
    '</head>',
    '<body>',
    '<header>',
    `<p>${escaped(text('document'))}</p>`,
    `<h1>${escaped(headline)}</h1>`,
    `<p>${escaped(trackingId)}</p>`,
    '</header>',
  )

  section('transfer')
  fact(text('status'), `${status}, ${recorded(changed)}`, changed)
  fact(label('referenceId'), String(first.data.referenceId), first)
  const merchantName = settingsBefore(first.index).get('name')!
  fact(label('merchantId'), `${merchantName.value} (${first.data.merchantId})`, merchantName.from, first)
  fact(label('paymentMethod'), String(first.data.paymentMethod), first)
  const from = erasure ? [first, erasure] : [first]
  for (const [name, value] of personal(first)) fact(name, value, ...from)
  endSection()

  section('amounts')
  const withField = (field: string) => own.filter(({ data }) => field in data && !isNothing(data[field]!))
  const sum = (field: string) => own.reduce((total, { data }) => total + minorIn(data[field] ?? '0'), 0n)
  fact(text('requested'), requested, first)
  const receipts = own.filter((event) =>
    ['receivedAmountMinor', 'receivedAmountChangeMinor'].some((field) => withField(field).includes(event)),
  )
  if (kind === 'deposit' && receipts.length > 0)
    fact(text('received'), money(sum('receivedAmountMinor') + sum('receivedAmountChangeMinor')), ...receipts)
  const booked = own.findLast(({ type }) => type === 'TransferCompleted' || type === 'TransferCorrected')
  if (booked) fact(text('booked'), money(minorIn(booked.data.transactionAmountMinor)), booked)
  const returns = withField('returnedAmountMinor')
  if (returns.length > 0) fact(text('returned'), money(sum('returnedAmountMinor')), ...returns)
  endSection()

  section('settings')
  const settings = settingsBefore(first.index)
  for (const name of rules.settings[kind]!) {
    const setting = settings.get(name)
    if (setting) fact(label(name), valueText(name, setting.value, first.index), setting.from)
  }
  endSection()

  const roles = of('user').filter((event) => event.index < last.index && rules.people.includes(event.type))
  if (roles.length > 0) {
    section('people', 'time', 'name', 'event')
    const users = [...new Set(roles.map(({ stream }) => stream))]
    for (const event of users.flatMap((user) => roles.filter(({ stream }) => stream === user))) {
      const { role, merchantIds, by } = event.data
      const details = [
        ...(role === undefined ? [] : [valueText('role', role, event.index)]),
        ...(merchantIds ? [`${label('merchantIds')} ${valueText('merchantIds', merchantIds, event.index)}`] : []),
        ...(by === undefined ? [] : [person(String(by), event.index)]),
      ]
      const name = String(rolesOf(event.stream.slice(streamPrefix.user.length))[0]!.data.name)
      const what = [known(names, event.type), ...details].join('; ')
      row(event, escaped(name), escaped(what))
    }
    endSection()
  }

  section('timeline', 'time', 'event', 'who')
  const shown = new Set(['transfer', 'payment', 'callback', 'payouts', 'wallet', 'bankentries', 'privacy'])
  const isDuring = ({ index }: ProvenEvent) => index > first.index && index < last.index
  for (const event of events) {
    const { stream, type, data, metadata, index } = event
    const source = stream.slice(0, stream.indexOf('-'))
    const isRelated = source === 'integrity' || (source === 'merchant' && rules.merchant.includes(type))
    if (!shown.has(source) && !(isRelated && isDuring(event))) continue
    const actor = String(metadata.actor ?? '')
    const isRepeated = (name: string, value: Json) =>
      (name === 'by' && value === actor) || (name === 'amountMinor' && source === 'transfer' && event !== first)
    const isShown = ([name, value]: readonly [string, Json]) =>
      !rules.hidden.includes(name) && !isNothing(value) && !isRepeated(name, value)
    const details = [
      ...Object.entries(data)
        .filter(isShown)
        .map(([name, value]): [string, string] => [label(name), valueText(name, value, index)]),
      ...personal(event),
    ].map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`)
    const name = `<b>${escaped(known(names, type) ?? type)}</b>`
    const list = details.length === 0 ? '' : `<dl>${details.join('')}</dl>`
    row(event, `${name}${list}`, escaped(person(actor, index)))
  }
  endSection()

  section('proof')
  add(`<tr><th>${escaped(text('log'))}</th><td colspan="2">${escaped(checkpoint.origin)}</td></tr>`)
  add(`<tr><th>${escaped(text('treeSize'))}</th><td colspan="2">${checkpoint.size}</td></tr>`)
  add(`<tr><th>${escaped(text('root'))}</th><td colspan="2">${escaped(checkpoint.root)}</td></tr>`)
  add(`<tr><th>${escaped(text('events'))}</th><td colspan="2">${events.length}</td></tr>`)
  add('</table>', `<p>${escaped(text('proofNote'))}</p>`, `<p>${escaped(text('limits'))}</p>`, '</section>')
  add('</body>', '</html>', '')
  return lines.join('\n')
}

function known(texts: Texts, name: string): string | undefined {
  return Object.hasOwn(texts, name) ? texts[name] : undefined
}

function fieldsIn(value: Json | undefined): JsonFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonFields) : {}
}

function minorIn(value: Json | undefined): bigint {
  return BigInt(String(value))
}

const entities: Texts = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
/**
 * Invisible characters, which could hide or reorder others. These are ranges instead of Unicode's categories, which differ
 * between the versions of the three languages.
 */
const hidden = [
  ...[[0x00, 0x1f] as const, [0x7f, 0x9f] as const, [0xad, 0xad] as const, [0x61c, 0x61c] as const],
  ...[[0x180e, 0x180e] as const, [0x200b, 0x200f] as const, [0x2028, 0x202e] as const, [0x2060, 0x206f] as const],
  ...[[0xfeff, 0xfeff] as const, [0xfff9, 0xfffd] as const, [0xe0000, 0xe007f] as const],
]
const replacement = 0xfffd

/** Returns a text for HTML, with hidden characters as `\u` and their number. */
function escaped(text: string): string {
  return Array.from(text, (character) => {
    const entity = known(entities, character)
    if (entity !== undefined) return entity
    const point = character.codePointAt(0)!
    // Not every language can represent half of a surrogate pair.
    const code = point >= 0xd800 && point <= 0xdfff ? replacement : point
    const isHidden = hidden.some(([from, to]) => code >= from && code <= to)
    return isHidden ? `\\u${code.toString(16).padStart(4, '0')}` : character
  }).join('')
}
