import type { FastifyRequest } from 'fastify'
import { type Currency, isPayable } from '../../domain/currency.js'
import type { Merchant } from '../../domain/merchant/merchant.js'
import { formatTwoDecimals, parseAmount } from '../../domain/money.js'
import type { PaymentMethod } from '../../domain/payment-method.js'
import { hiddenCharacters, isVisible } from '../../domain/text.js'
import type { TransferKind } from '../../domain/transfer/events.js'
import type { HttpDependencies } from '../dependencies.js'
import { failures, RequestError, type ValidationError } from '../errors.js'
import { validationErrorsOf } from '../plugins/validation-errors.js'

export interface CheckedAmount {
  readonly amountMinor: bigint
  readonly amountText: string
}

interface Body {
  readonly amount?: unknown
  readonly paymentMethod?: unknown
}

/** What people read of a create. */
const shownFields = new Set(['userId', 'name', 'username', 'accountNumber', 'identityNumber'])

/** What no schema can say: the amount's own text; and what is asked of new creates only: the catalogue, bounds, texts. */
export class CreateRequestChecks {
  private readonly methods: ReadonlyMap<number, PaymentMethod>
  private readonly currency: Currency

  constructor(
    { paymentMethods, currency }: Pick<HttpDependencies, 'paymentMethods' | 'currency'>,
    private readonly kind: TransferKind,
  ) {
    this.currency = currency
    this.methods = new Map(paymentMethods.filter(({ kinds }) => kinds.includes(kind)).map((each) => [each.code, each]))
  }

  /**
   * What no settings can make right. `merchant`: null while it is not known yet.
   * @throws RequestError naming every field that is wrong, also by the settings
   */
  check(request: FastifyRequest, merchant: Merchant | null): CheckedAmount {
    const problems = request.validationError ? this.schemaProblems(request) : []
    const refused = (field: string) => problems.some(({ members }) => members[0] === field)
    const amountText = request.amountText ?? ''
    const amountMinor = parseAmount(amountText)
    if (amountMinor === undefined && !refused('amount') && !refused('body')) {
      problems.push(problem('amount', 'must be a plain number above 0 with at most two decimals'))
    }
    if (amountMinor !== undefined && problems.length === 0) return { amountMinor, amountText }
    const body = (request.body ?? {}) as Body
    const others = refused('body') ? [] : this.problems(body, amountMinor, merchant)
    const validationErrors = [...problems, ...others.filter(({ members }) => !refused(members[0]!))]
    throw new RequestError(failures.invalidRequest, { validationErrors })
  }

  /** What today's settings say against a checked request; a repeat of one that was accepted is answered all the same. */
  refusal(body: Body, { amountMinor }: CheckedAmount, merchant: Merchant): RequestError | undefined {
    const validationErrors = this.problems(body, amountMinor, merchant)
    return validationErrors.length === 0 ? undefined : new RequestError(failures.invalidRequest, { validationErrors })
  }

  private problems(body: Body, amountMinor: bigint | undefined, merchant: Merchant | null): ValidationError[] {
    const method = this.methods.get(body.paymentMethod as number)
    const unknown = method ? [] : [problem('paymentMethod', `is not a payment method for a ${this.kind}`)]
    const wrong =
      amountMinor === undefined ? undefined : (this.tooFine(amountMinor) ?? outOfBounds(amountMinor, method, merchant))
    return [...unknown, ...(wrong ? [wrong] : []), ...hiddenTexts(body)]
  }

  private tooFine(amountMinor: bigint): ValidationError | undefined {
    if (isPayable(this.currency, amountMinor)) return undefined
    return problem('amount', `must be whole: ${this.currency.code} has no decimals`)
  }

  private schemaProblems({ validationError }: FastifyRequest): ValidationError[] {
    if (!validationError?.validation) throw validationError
    return validationErrorsOf(validationError.validation)
  }
}

/** Not in the schemas: texts that were accepted before this was asked of them are in creates that may be repeated. */
function hiddenTexts(body: Body): ValidationError[] {
  const shown = Object.entries(body).filter(([field]) => shownFields.has(field))
  return shown.flatMap(([field, value]) =>
    typeof value === 'string' && !isVisible(value) ? [problem(field, hiddenCharacters)] : [],
  )
}

function outOfBounds(
  amountMinor: bigint,
  method: PaymentMethod | undefined,
  merchant: Merchant | null,
): ValidationError | undefined {
  for (const bounds of [method, merchant?.settings]) {
    if (bounds && (amountMinor < bounds.minAmountMinor || amountMinor > bounds.maxAmountMinor)) {
      const [from, to] = [formatTwoDecimals(bounds.minAmountMinor), formatTwoDecimals(bounds.maxAmountMinor)]
      return problem('amount', `must be from ${from} to ${to}`)
    }
  }
  return undefined
}

function problem(field: string, text: string): ValidationError {
  return { message: `${field} ${text}`, members: [field] }
}
