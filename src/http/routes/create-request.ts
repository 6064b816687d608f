import type { FastifyRequest } from 'fastify'
import type { Merchant } from '../../domain/merchant/merchant.js'
import { formatTwoDecimals, parseAmount } from '../../domain/money.js'
import type { PaymentMethod } from '../../domain/payment-method.js'
import type { TransferKind } from '../../domain/transfer/events.js'
import { failures, RequestError, type ValidationError } from '../errors.js'
import { validationErrorsOf } from '../validation-errors.js'

export interface CheckedAmount {
  readonly amountMinor: bigint
  readonly amountText: string
}

/** What no schema can say: the amount's own text, the catalogue, and bounds; reported together with what the schema said. */
export class CreateRequestChecks {
  private readonly methods: ReadonlyMap<number, PaymentMethod>

  constructor(
    paymentMethods: readonly PaymentMethod[],
    private readonly kind: TransferKind,
  ) {
    this.methods = new Map(paymentMethods.filter(({ kinds }) => kinds.includes(kind)).map((each) => [each.code, each]))
  }

  /** `merchant`: null while it is not known yet. @throws RequestError naming every field that is wrong */
  check(request: FastifyRequest, merchant: Merchant | null): CheckedAmount {
    const problems = request.validationError ? this.schemaProblems(request) : []
    const body = (request.body ?? {}) as { readonly amount?: unknown; readonly paymentMethod?: unknown }
    const refused = (field: string) => problems.some(({ members }) => members[0] === field)
    const method = this.methods.get(body.paymentMethod as number)
    if (!method && !refused('paymentMethod') && !refused('body')) {
      problems.push(problem('paymentMethod', `is not a payment method for a ${this.kind}`))
    }
    const amountText = request.amountText ?? ''
    const amountMinor = parseAmount(amountText)
    if (amountMinor === undefined) {
      if (!refused('amount') && !refused('body')) {
        problems.push(problem('amount', 'must be a plain number above 0 with at most two decimals'))
      }
    } else {
      const outside = outOfBounds(amountMinor, method, merchant)
      if (outside && !refused('amount')) problems.push(outside)
    }
    if (amountMinor === undefined || problems.length > 0) {
      throw new RequestError(failures.invalidRequest, { validationErrors: problems })
    }
    return { amountMinor, amountText }
  }

  /** @throws RequestError */
  checkBounds(amountMinor: bigint, merchant: Merchant): void {
    const outside = outOfBounds(amountMinor, undefined, merchant)
    if (outside) throw new RequestError(failures.invalidRequest, { validationErrors: [outside] })
  }

  private schemaProblems({ validationError }: FastifyRequest): ValidationError[] {
    if (!validationError?.validation) throw validationError
    return validationErrorsOf(validationError.validation)
  }
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
