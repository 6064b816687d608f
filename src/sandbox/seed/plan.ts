import { type Currency, isPayable } from '../../domain/money.js'
import type { PaymentMethod } from '../../domain/payment-method.js'
import type { TransferKind } from '../../domain/transfer/transfer-events.js'
import { minuteMs } from '../../kernel/time.js'

/** An action on a sample transfer after its creation. */
export type Happening =
  | { readonly type: 'receive'; readonly amountMinor: bigint }
  | { readonly type: 'complete' | 'expire' }
  | { readonly type: 'SendToManualControl' | 'Cancel' | 'Fail'; readonly message: string }

export type PlannedTransfer = NonNullable<ReturnType<typeof plannedTransfer>>

export interface Frame {
  readonly currency: Currency
  readonly paymentMethods: readonly PaymentMethod[]
  /** The settings of both merchants. */
  readonly minAmountMinor: bigint
  readonly maxAmountMinor: bigint
  readonly depositExpiryMinutes: number
}

export const hourLong = 60 * minuteMs
const transferCount = 400
const depositShare = 0.62
const firstMerchantShare = 0.6

/** Returns an hour of sample transfers, oldest first. The result depends only on the seed and the frame. */
export function planOfAnHour(seed: number, frame: Frame): readonly PlannedTransfer[] {
  const dice = new Dice(seed)
  const customers = sampleCustomers(dice)
  const planned = Array.from({ length: transferCount }, (_, n) => plannedTransfer(n, dice, customers, frame))
  return planned.flatMap((each) => each ?? []).sort((a, b) => b.agoMs - a.agoMs)
}

/** Returns undefined if the catalogue has no suitable payment method. `agoMs` is the time before the end of the hour. */
function plannedTransfer(n: number, dice: Dice, customers: ReturnType<typeof sampleCustomers>, frame: Frame) {
  const kind: TransferKind = dice.chance(depositShare) ? 'deposit' : 'withdrawal'
  const agoMs = dice.between(2_000, hourLong)
  const method = dice.oneOf(frame.paymentMethods.filter(({ kinds }) => kinds.includes(kind)))
  const customer = dice.oneOf(customers)
  const wanted = amount(dice, kind)
  const merchant = dice.chance(firstMerchantShare) ? 0 : 1
  const channel = dice.chance(0.8) ? ('hosted' as const) : ('native' as const)
  if (!method || !customer) return undefined
  const amountMinor = payable(wanted, method, frame)
  const all = kind === 'deposit' ? depositSteps(dice, amountMinor, frame) : withdrawalSteps(dice)
  // In chronological order.
  const steps = all.map(({ afterMs, does }) => ({ agoMs: agoMs - afterMs, does })).filter((step) => step.agoMs > 0)
  return {
    merchant,
    kind,
    customer,
    amountMinor,
    channel,
    agoMs,
    referenceId: `sample-${String(n + 1).padStart(3, '0')}`,
    paymentMethod: method.code,
    steps,
  }
}

/** Returns mostly small, round amounts. */
function amount(dice: Dice, kind: TransferKind): bigint {
  const spread = Math.exp(dice.between(0, 1_000) / 250)
  const units = Math.round((kind === 'deposit' ? 50 : 150) * spread)
  return dice.chance(0.7)
    ? BigInt(Math.ceil(units / 50) * 50) * 100n
    : BigInt(units) * 100n + BigInt(dice.between(0, 99))
}

function payable(wanted: bigint, method: PaymentMethod, { currency, ...frame }: Frame): bigint {
  const least = method.minAmountMinor > frame.minAmountMinor ? method.minAmountMinor : frame.minAmountMinor
  const most = method.maxAmountMinor < frame.maxAmountMinor ? method.maxAmountMinor : frame.maxAmountMinor
  const within = wanted < least ? least : wanted > most ? most : wanted
  return isPayable(currency, within) ? within : (within / 100n + (within < 100n ? 1n : 0n)) * 100n
}

type LaterStep = { readonly afterMs: number; readonly does: Happening }

function depositSteps(dice: Dice, amountMinor: bigint, frame: Frame): LaterStep[] {
  const soonMs = dice.between(40_000, 6 * minuteMs)
  const laterMs = soonMs + dice.between(minuteMs, 8 * minuteMs)
  const other = differing(dice, amountMinor)
  const expired = { afterMs: frame.depositExpiryMinutes * minuteMs, does: { type: 'expire' } } as const
  const received = { type: 'receive', amountMinor } as const
  const roll = dice.between(0, 99)
  if (roll < 72) return [{ afterMs: soonMs, does: received }]
  if (roll < 79) return [{ afterMs: soonMs, does: { type: 'receive', amountMinor: other } }]
  if (roll < 85) return [{ afterMs: soonMs, does: { type: 'Cancel', message: 'The customer changed their mind.' } }]
  if (roll < 88) return [{ afterMs: soonMs, does: { type: 'Fail', message: 'The bank refused the payment.' } }]
  const checked = { afterMs: soonMs, does: { type: 'SendToManualControl', message: 'Name and payer differ.' } } as const
  if (roll < 91) return [checked]
  if (roll < 93) return [checked, { afterMs: laterMs, does: { type: 'complete' } }]
  // Money arrives after the deposit has ended, so an operator must decide.
  if (roll < 96) return [expired, { afterMs: expired.afterMs + soonMs, does: received }]
  return [expired]
}

function withdrawalSteps(dice: Dice): LaterStep[] {
  const paidMs = dice.between(3 * minuteMs, 25 * minuteMs)
  const roll = dice.between(0, 99)
  if (roll < 68) return [{ afterMs: paidMs, does: { type: 'complete' } }]
  if (roll < 76) return [{ afterMs: paidMs, does: { type: 'Cancel', message: 'The account number does not exist.' } }]
  if (roll < 82)
    return [{ afterMs: paidMs, does: { type: 'SendToManualControl', message: 'The bank requests a reason.' } }]
  return []
}

/** Returns an amount slightly different from the requested one, in whole units. */
function differing(dice: Dice, amountMinor: bigint): bigint {
  const by = BigInt(dice.between(1, 9)) * 100n
  return amountMinor > 2n * by && dice.chance(0.6) ? amountMinor - by : amountMinor + by
}

/** A random generator with a reproducible sequence for each seed (mulberry32). Not suitable for secrets. */
class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** Returns an integer between both ends, inclusive. */
  between(min: number, max: number): number {
    return min + Math.floor(this.#next() * (max - min + 1))
  }

  chance(probability: number): boolean {
    return this.#next() < probability
  }

  /** Returns a random element, or undefined if the list is empty. */
  oneOf<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(this.#next() * items.length)]
  }

  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const firstNames = [
  ...['Ada', 'Ahmet', 'Alice', 'Ayşe', 'Bob', 'Can', 'Çağla', 'Deniz', 'Elif', 'Emre', 'Grace', 'Gül', 'İbrahim'],
  ...['Jale', 'Kerem', 'Leyla', 'Linus', 'Mehmet', 'Nur', 'Oğuz', 'Özlem', 'Petra', 'Selin', 'Şule', 'Umut', 'Zeynep'],
]
const lastNames = [
  ...['Aydın', 'Çelik', 'Demir', 'Doğan', 'Example', 'Kaya', 'Kılıç', 'Koç', 'Öztürk', 'Placeholder', 'Sample'],
  ...['Şahin', 'Testowski', 'Yıldız', 'Yılmaz'],
]
const customerCount = 80

/** The account numbers have the form of an IBAN at a fictitious bank. */
function sampleCustomers(dice: Dice) {
  return Array.from({ length: customerCount }, (_, n) => {
    const name = `${dice.oneOf(firstNames)} ${dice.oneOf(lastNames)}`
    const username = name
      .normalize('NFD')
      .replaceAll('ı', 'i')
      .replace(/[^A-Za-z]/g, '')
      .toLowerCase()
    const digits = Array.from({ length: 17 }, () => dice.between(0, 9)).join('')
    const accountNumber = iban('TR', `00000${digits}`)
    return { userId: `sample-${n + 1}`, name, username: `${username}${n + 1}`, accountNumber }
  })
}

/** Returns the IBAN with its check digits (ISO 13616): 98 minus the remainder, modulo 97, of account, country as digits, and 00. */
function iban(country: string, account: string): string {
  const letters = [...country].map((letter) => letter.charCodeAt(0) - 55).join('')
  const check = 98n - (BigInt(`${account}${letters}00`) % 97n)
  return `${country}${String(check).padStart(2, '0')}${account}`
}
