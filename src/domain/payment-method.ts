import type { TransferKind } from './transfer/transfer-events.js'

/** `manual`: by the merchant's instructions, and settled by an operator; no wallet takes part. */
export type PaidBy = 'wallet' | 'manual'

/** An entry of the catalogue in configuration; requests name it by its code. */
export interface PaymentMethod {
  readonly code: number
  readonly name: string
  /** The Turkish name; defaults to `name`. */
  readonly nameTr?: string | undefined
  readonly kinds: readonly TransferKind[]
  /** How a deposit by it is paid. */
  readonly paidBy: PaidBy
  readonly minAmountMinor: bigint
  readonly maxAmountMinor: bigint
}

/** A method that has left the catalogue is none: what was begun with a wallet can be finished. */
export function isManual(methods: readonly PaymentMethod[], code: number): boolean {
  return methods.some((method) => method.code === code && method.paidBy === 'manual')
}

/** Returns the name of a method in each language of the pages. */
export function namesOf({ name, nameTr = name }: PaymentMethod): { readonly en: string; readonly tr: string } {
  return { en: name, tr: nameTr }
}
