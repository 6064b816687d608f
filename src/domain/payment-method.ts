import type { TransferKind } from './transfer/transfer-events.js'

/** The account to which customers transfer their deposits. */
export interface ReceivingAccount {
  readonly name: string
  /** In electronic form, like the BIC. */
  readonly iban: string
  readonly bic?: string | undefined
}

/** An entry of the catalogue in the configuration. Requests name it by its code. */
export interface PaymentMethod {
  readonly code: number
  readonly name: string
  /** The Turkish name; defaults to `name`. */
  readonly nameTr?: string | undefined
  readonly kinds: readonly TransferKind[]
  /** `manual`: the customer pays by the merchant's instructions, and an operator settles the deposit without a wallet. */
  readonly paidBy: 'wallet' | 'manual'
  /** Only of a manual method. */
  readonly account?: ReceivingAccount | undefined
  readonly minAmountMinor: bigint
  readonly maxAmountMinor: bigint
}

/** Returns whether the method is manual. One that left the catalogue is not, so a wallet payment in progress can be finished. */
export function isManual(methods: readonly PaymentMethod[], code: number): boolean {
  return methods.some((method) => method.code === code && method.paidBy === 'manual')
}

export function namesOf({ name, nameTr = name }: PaymentMethod): { readonly en: string; readonly tr: string } {
  return { en: name, tr: nameTr }
}
