import type { FastifyRequest } from 'fastify'
import type { Merchant } from '../../domain/merchant/merchant.js'
import { type Currency, isPayable, parseAmount } from '../../domain/money.js'
import type { PaymentMethod } from '../../domain/payment-method.js'
import type { TransferKind } from '../../domain/transfer/transfer-events.js'
import { type FieldViolation, type Violation, violate } from '../../kernel/rules.js'
import { isVisible } from '../../kernel/text.js'
import { invalidFields, type RequestError } from '../refusals.js'
import { invalidFieldsOf } from '../server/validation-errors.js'

export interface CheckedAmount {
  readonly amountMinor: bigint
  readonly amountText: string
}

interface Body {
  readonly amount?: unknown
  readonly paymentMethod?: unknown
}

/** The fields of a create that users see. */
const shownFields = new Set(['userId', 'name', 'username', 'accountNumber', 'identityNumber'])

/** The checks beyond the schema: the amount's text, and the catalogue, bounds and texts of new creates. */
export class CreateRequestChecks {
  readonly #methods: ReadonlyMap<number, PaymentMethod>

  constructor(
    private readonly kind: TransferKind,
    paymentMethods: readonly PaymentMethod[],
    private readonly currency: Currency,
  ) {
    this.#methods = new Map(paymentMethods.filter(({ kinds }) => kinds.includes(kind)).map((each) => [each.code, each]))
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
    if (wrongAmount) problems.unshift({ field: 'amount', ...wrongAmount })
    if (!method) {
      problems.unshift({ field: 'paymentMethod', ...violate('method-unavailable', { kind: this.kind }) })
    }
    return problems
  }

  #wrongAmount(amountMinor: bigint, bounds: readonly (AmountBounds | undefined)[]): Violation | undefined {
    if (!isPayable(this.currency, amountMinor)) return violate('whole-amount', { currency: this.currency.code })
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
  const shown = Object.entries(body).filter(([field]) => shownFields.has(field))
  return shown.flatMap(([field, value]) =>
    typeof value === 'string' && !isVisible(value) ? [{ field, ...violate('hidden-characters') }] : [],
  )
}
