import { readFileSync } from 'node:fs'
import { erasedAccountNumber, erasedText } from '../domain/erased-data.js'
import { isOpenRecord } from '../domain/event-summary.js'
import { type Currency, formatWithCode } from '../domain/money.js'
import type { PaymentMethod } from '../domain/payment-method.js'
import { isReturnReason, returnReasons } from '../domain/transfer/return-reasons.js'
import { statusCodes } from '../domain/transfer/status.js'
import { escapeHidden } from '../kernel/text.js'
import type { CommandStores } from './cli-stores.js'
import { exactTime, isTime, openRecordText, shortId } from './readable.js'

/** The names by which an installation knows the ids and codes in its log. */
interface KnownNames {
  readonly currency: Currency
  readonly paymentMethods: readonly Pick<PaymentMethod, 'code' | 'name'>[]
  /** Returns the name of a user, or `undefined` if the log has no such user. */
  readonly user: (userId: string) => string | undefined
  readonly merchant: (merchantId: string) => string | undefined
}

interface Texts {
  readonly events: { readonly [type: string]: string }
  readonly fields: { readonly [field: string]: string }
}

let texts: Texts | undefined

/** The build writes the English texts of the dashboard (scripts/bundle.js). */
function textOf(area: keyof Texts, name: string): string | undefined {
  texts ??= JSON.parse(readFileSync(new URL(import.meta.resolve('#data/names.json')), 'utf8')) as Texts
  return Object.hasOwn(texts[area], name) ? texts[area][name] : undefined
}

/** Returns the name of an event type as the dashboard shows it, or the type if it has none. */
export function eventName(type: string): string {
  return textOf('events', type) ?? escapeHidden(type)
}

/** Returns the label of a field as the dashboard shows it, or the words of the field's own name. */
export function fieldName(name: string): string {
  const known = textOf('fields', name)
  if (known !== undefined) return known
  const words = name
    .replace(/(Minor|Ms|Minutes)$/, (unit) => (unit === 'Minutes' ? ' in minutes' : ''))
    .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .replace(/ ids?$/, (id) => id.replace('id', 'ID'))
    .replace(/sha256$/, 'SHA-256')
  return escapeHidden(words.charAt(0).toUpperCase() + words.slice(1))
}

const kindOf = /^(user|merchant|cli|system):(.*)$/s
/** The fields that contain actors, at any depth of a state or an event. */
const actorFields: ReadonlySet<string> = new Set([
  ...['actor', 'actors', 'by', 'claimants', 'decidedBy', 'heldBy', 'proposedBy', 'requestedBy'],
])

export type Names = ReturnType<typeof namesFrom>

/** Returns functions that name the actors and values of a log. Their texts have no characters that a terminal does not display. */
export function namesFrom({ currency, paymentMethods, user, merchant }: KnownNames) {
  const statuses = new Map<unknown, string>(
    Object.entries(statusCodes).flatMap(([name, code]) => [name, code].map((key) => [key, name] as const)),
  )
  const named = (kind: string, id: string, name: string | undefined) =>
    name === undefined ? `unknown ${kind} ${shortId(id)}` : `${name} (${kind} ${shortId(id)})`

  /** Returns the name of a user, and any other actor as it is recorded. For documents and files, and like the dashboard's API. */
  const actorName = (recorded: string): string => {
    const [, kind, id = ''] = kindOf.exec(recorded) ?? []
    return (kind === 'user' ? user(id) : undefined) ?? recorded
  }
  /** Returns `Grace Hopper (user 1b2c3d4e)` for `user:1b2c3d4e-…`. */
  const actor = (recorded: string): string => {
    const [, kind, id = ''] = kindOf.exec(recorded) ?? []
    if (kind === 'user') return escapeHidden(named('user', id, user(id)))
    if (kind === 'merchant') return escapeHidden(named('merchant', id, merchant(id)))
    if (kind === 'cli') return escapeHidden(`${id} (command line)`)
    if (kind === 'system') return escapeHidden(`service (${id})`)
    return recorded === '' ? 'not recorded' : escapeHidden(recorded)
  }

  /** Returns the value of a field on one line; the end of the name states its unit, such as `Minor` or `Ms`. Objects are `Label value, …`. */
  const value = (name: string, given: unknown): string => {
    // A user of the operator is not bound to merchants.
    if (name === 'merchantIds' && given === null) return 'all'
    if (given === null || given === undefined || given === '') return '-'
    if (isOpenRecord(name, given)) return openRecordText(given)
    if (Array.isArray(given)) return given.map((each) => value(name, each)).join(', ') || '-'
    if (typeof given === 'object')
      return (
        Object.entries(given)
          .map(([field, each]) => `${fieldName(field)} ${value(field, each)}`)
          .join(', ') || '-'
      )
    if (typeof given === 'boolean') return given ? 'yes' : 'no'
    const text = String(given)
    if (name.endsWith('Minor') && /^-?\d{1,30}$/.test(text)) return amount(BigInt(text))
    if (name.endsWith('Ms') && typeof given === 'number') return `${Math.round(given)} ms`
    return escapeHidden(scalar(name, given, text))
  }
  /** Returns `Blue Shop (6f6a5c0e)`. */
  const shortMerchant = (merchantId: string): string => {
    const name = merchant(merchantId)
    return escapeHidden(name === undefined ? shortId(merchantId) : `${name} (${shortId(merchantId)})`)
  }
  const amount = (minor: bigint) =>
    minor < 0n ? `-${formatWithCode(currency, -minor)}` : formatWithCode(currency, minor)
  const scalar = (name: string, given: unknown, text: string): string => {
    if (isTime(given)) return exactTime(given)
    if (actorFields.has(name)) return actor(text)
    const status = name === 'status' ? statuses.get(given) : undefined
    if (status !== undefined) return `${status} (${statusCodes[status as keyof typeof statusCodes]})`
    const merchantName = name === 'merchantId' || name === 'merchantIds' ? merchant(text) : undefined
    if (merchantName !== undefined) return `${merchantName} (${text})`
    if (name === 'reasonCode' && isReturnReason(text)) return `${text} (${returnReasons[text]})`
    const method = name === 'paymentMethod' ? paymentMethods.find(({ code }) => code === given)?.name : undefined
    if (method !== undefined) return `${method} (${text})`
    return name === 'accountNumber' && given === erasedAccountNumber ? erasedText : text
  }
  return { actor, actorName, merchantName: merchant, shortMerchant, value }
}

/** Reads the names of users and merchants from the log. One whose events cannot be read has no name. @throws StoreUnavailableError */
export async function namesOf({ configuration, merchantDirectory, userDirectory }: CommandStores): Promise<Names> {
  const [merchants, users] = await Promise.all([merchantDirectory(), userDirectory()])
  const { currency, paymentMethods } = configuration
  return namesFrom({
    currency,
    paymentMethods,
    user: (id) => users.byId(id)?.name,
    merchant: (id) => merchants.byId(id)?.settings.name,
  })
}
