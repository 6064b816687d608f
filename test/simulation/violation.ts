/** The invariants of every world. The planted bugs name them, and cover each. */
export const invariants = [
  'legal-transitions',
  'one-terminal-event',
  'one-payout',
  'one-bank-file',
  'money-balance',
  'callbacks',
  'checkpoints',
  'read-models',
  'statements',
  'audit-tree',
  'erased-data',
  'merchant-isolation',
  'nothing-lost',
  'settles',
  'secrets',
] as const
export type Invariant = (typeof invariants)[number]

export class Violation extends Error {
  override readonly name = 'Violation'

  constructor(
    readonly invariant: Invariant,
    message: string,
  ) {
    super(message)
  }
}

/** @throws Violation unless the condition holds */
export function must(invariant: Invariant, condition: unknown, message: () => string): asserts condition {
  if (!condition) throw new Violation(invariant, message())
}
