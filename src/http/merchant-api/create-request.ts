import type { FastifyRequest } from 'fastify'
import { type Currency, isPayable } from '../../domain/currency.js'
import type { Merchant } from '../../domain/merchant/merchant.js'
import { formatTwoDecimals, parseAmount } from '../../domain/money.js'
import type { PaymentMethod } from '../../domain/payment-method.js'
import type { TransferKind } from '../../domain/transfer/transfer-events.js'
import { hiddenCharacters, isVisible } from '../../kernel/text.js'
import { fieldProblem, RequestError, type ValidationError } from '../refusals.js'
import { validationErrorsOf } from '../server/validation-errors.js'

export interface CheckedAmount {
  readonly amountMinor: bigint
  readonly amountText: string
}

interface Body {
  readonly amount?: unknown
  readonly paymentMethod?: unknown
}

/** The fields of a create that people read. */
const shownFields = new Set(['userId', 'name', 'username', 'accountNumber', 'identityNumber'])

/** What no schema can say: the amount's own text; and what is asked of new creates only: the catalogue, bounds, texts. */
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
   * What is wrong whatever the settings. `merchant`: null while it is not known yet.
   * @throws RequestError naming every field that is wrong, also by the settings
   */
  check(request: FastifyRequest, merchant: Merchant | null): CheckedAmount {
    const { validationError } = request
    if (validationError && !validationError.validation) throw validationError
    const problems = validationErrorsOf(validationError?.validation ?? [])
    const refused = (field: string | undefined) => problems.some(({ members }) => members[0] === field)
    const amountText = request.amountText ?? ''
    const amountMinor = parseAmount(amountText)
    if (amountMinor === undefined && !refused('amount') && !refused('body')) {
      problems.push(fieldProblem('amount', 'must be a plain number above 0 with at most two decimals'))
    }
    if (amountMinor !== undefined && problems.length === 0) return { amountMinor, amountText }
    const others = refused('body') ? [] : this.#problems((request.body ?? {}) as Body, amountMinor, merchant)
    const validationErrors = [...problems, ...others.filter(({ members }) => !refused(members[0]))]
    throw new RequestError('invalid-request', { validationErrors })
  }

  /** What today's settings say against a checked request; a repeat of one that was accepted is answered all the same. */
  refusal(body: Body, { amountMinor }: CheckedAmount, merchant: Merchant): RequestError | undefined {
    const validationErrors = this.#problems(body, amountMinor, merchant)
    return validationErrors.length === 0 ? undefined : new RequestError('invalid-request', { validationErrors })
  }

  #problems(body: Body, amountMinor: bigint | undefined, merchant: Merchant | null): ValidationError[] {
    const method = this.#methods.get(body.paymentMethod as number)
    const problems = hiddenTexts(body)
    const wrongAmount =
      amountMinor === undefined ? undefined : this.#wrongAmount(amountMinor, [method, merchant?.settings])
    if (wrongAmount) problems.unshift(fieldProblem('amount', wrongAmount))
    if (!method) problems.unshift(fieldProblem('paymentMethod', `is not a payment method for a ${this.kind}`))
    return problems
  }

  #wrongAmount(amountMinor: bigint, bounds: readonly (AmountBounds | undefined)[]): string | undefined {
    if (!isPayable(this.currency, amountMinor)) return `must be whole: ${this.currency.code} has no decimals`
    const exceeded = bounds.find(
      (each) => each && (amountMinor < each.minAmountMinor || amountMinor > each.maxAmountMinor),
    )
    if (!exceeded) return undefined
    return `must be from ${formatTwoDecimals(exceeded.minAmountMinor)} to ${formatTwoDecimals(exceeded.maxAmountMinor)}`
  }
}

type AmountBounds = Pick<PaymentMethod, 'minAmountMinor' | 'maxAmountMinor'>

/** Not in the schemas: creates from before this rule may be repeated, and their texts were accepted. */
function hiddenTexts(body: Body): ValidationError[] {
  const shown = Object.entries(body).filter(([field]) => shownFields.has(field))
  return shown.flatMap(([field, value]) =>
    typeof value === 'string' && !isVisible(value) ? [fieldProblem(field, hiddenCharacters)] : [],
  )
}
