import type { FastifyRequest } from 'fastify'
import { payeeNameProblem } from '../../domain/bank-file.js'
import { violate } from '../../domain/decider.js'
import type { Merchant } from '../../domain/merchant/merchant.js'
import { type Currency, formatShortest, formatTwoDecimals, isPayable, parseAmount } from '../../domain/money.js'
import type { PaymentMethod } from '../../domain/payment-method.js'
import type { FieldViolation, Violation } from '../../domain/rules.js'
import type { TransferKind } from '../../domain/transfer/transfer-events.js'
import { isVisible } from '../../kernel/text.js'
import { hashCode, matchesHashCode } from '../../security/api-keys.js'
import { invalidFields, type RequestError } from '../refusals.js'
import { invalidFieldsOf } from '../server/validation.js'
import type { HttpServices } from '../services.js'

export interface CheckedAmount {
  readonly amountMinor: bigint
  /** The amount's raw text in the body. */
  readonly amountText: string
}

interface Body {
  readonly amount?: unknown
  readonly paymentMethod?: unknown
  readonly name?: unknown
}

/** The fields of a create that users see. */
const shownFields = new Set(['referenceId', 'userId', 'name', 'username', 'accountNumber', 'identityNumber'])

/** The checks beyond the schema: the amount's text, and the catalogue, bounds and texts of new creates. */
export class CreateRequestChecks {
  readonly #methods: ReadonlyMap<number, PaymentMethod>
  readonly #currency: Currency

  constructor(
    private readonly kind: TransferKind,
    { paymentMethods, currency }: HttpServices,
  ) {
    this.#methods = new Map(paymentMethods.filter(({ kinds }) => kinds.includes(kind)).map((each) => [each.code, each]))
    this.#currency = currency
  }

  /**
   * Checks a request regardless of the settings. `merchant`: null while it is unknown.
   * @throws RequestError that names every invalid field, including those that violate the settings
   */
  check(request: FastifyRequest, merchant: Merchant | null): CheckedAmount {
    const { validationError } = request
    if (validationError && !validationError.validation) throw validationError
    const problems = invalidFieldsOf(validationError?.validation ?? [])
    const refused = (field: string | undefined) => problems.some((problem) => problem.field === field)
    const amountText = request.amountText ?? ''
    const amountMinor = parseAmount(amountText)
    if (amountMinor === undefined && !refused('amount') && !refused('body')) {
      problems.push({ field: 'amount', ...violate('amount-invalid') })
    }
    if (amountMinor !== undefined && problems.length === 0) return { amountMinor, amountText }
    const others = refused('body') ? [] : this.#problems((request.body ?? {}) as Body, amountMinor, merchant)
    const fields = [...problems, ...others.filter(({ field }) => !refused(field))]
    throw invalidFields(fields)
  }

  /** Returns why the current settings reject a checked request. A repeat of an accepted request succeeds anyway. */
  refusal(body: Body, { amountMinor }: CheckedAmount, merchant: Merchant): RequestError | undefined {
    const fields = this.#problems(body, amountMinor, merchant)
    return fields.length === 0 ? undefined : invalidFields(fields)
  }

  #problems(body: Body, amountMinor: bigint | undefined, merchant: Merchant | null): FieldViolation[] {
    const method = this.#methods.get(body.paymentMethod as number)
    const problems = hiddenTexts(body)
    const wrongAmount =
      amountMinor === undefined ? undefined : this.#wrongAmount(amountMinor, [method, merchant?.settings])
    const name = this.kind === 'withdrawal' && payeeNameProblem(this.#currency, String(body.name))
    if (name) problems.push({ field: 'name', ...name })
    if (wrongAmount) problems.unshift({ field: 'amount', ...wrongAmount })
    if (!method) {
      problems.unshift({ field: 'paymentMethod', ...violate('method-unavailable', { kind: this.kind }) })
    }
    return problems
  }

  #wrongAmount(amountMinor: bigint, bounds: readonly (AmountBounds | undefined)[]): Violation | undefined {
    if (!isPayable(this.#currency, amountMinor)) return violate('whole-amount', { currency: this.#currency.code })
    const exceeded = bounds.find(
      (each) => each && (amountMinor < each.minAmountMinor || amountMinor > each.maxAmountMinor),
    )
    if (!exceeded) return undefined
    return violate('amount-out-of-range', { smallest: exceeded.minAmountMinor, largest: exceeded.maxAmountMinor })
  }
}

type AmountBounds = Pick<PaymentMethod, 'minAmountMinor' | 'maxAmountMinor'>

/** Not part of the schemas, because a repeat of a create that precedes this rule must succeed. */
function hiddenTexts(body: Body): FieldViolation[] {
  const found: FieldViolation[] = []
  for (const [field, value] of Object.entries(body)) {
    if (typeof value === 'string' && shownFields.has(field) && !isVisible(value))
      found.push({ field, ...violate('hidden-characters') })
  }
  return found
}

interface HashedRequest extends CheckedAmount {
  readonly hashCode: string
  readonly referenceId: string
}

/**
 * Returns the amount text that produces the hashCode with one of the secrets: the text in the body, the shortest form
 * (as most JSON libraries print it) or the two-decimal form (as most invoices print it), or `undefined`.
 */
export function hashedAmountText(request: HashedRequest, secrets: readonly string[]): string | undefined {
  const { hashCode: received, referenceId, amountMinor, amountText } = request
  for (const form of [() => amountText, () => formatShortest(amountMinor), () => formatTwoDecimals(amountMinor)]) {
    const text = form()
    if (secrets.some((secret) => matchesHashCode(received, hashCode(secret, text, referenceId)))) return text
  }
  return undefined
}
