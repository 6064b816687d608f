import type { TransferKind } from './transfer/events.js'

/** An entry of the catalogue in configuration; requests name it by its code. */
export interface PaymentMethod {
  readonly code: number
  readonly name: string
  readonly kinds: readonly TransferKind[]
  readonly minAmountMinor: bigint
  readonly maxAmountMinor: bigint
}
