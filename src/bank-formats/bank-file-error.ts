import type { bankFileRules } from '../domain/bank/bank-file-rules.js'
import { violate } from '../domain/decider.js'
import type { ValueArguments, Violation } from '../domain/rules.js'

type BankFileRule = keyof typeof bankFileRules

/** The file cannot be read correctly. The message is the rule only, because the file is about people. */
export class BankFileError extends Error {
  override readonly name = 'BankFileError'
  readonly violation: Violation

  constructor(violation: Violation) {
    super(violation.rule)
    this.violation = violation
  }
}

/** @throws BankFileError always */
export function fail<Rule extends BankFileRule>(rule: Rule, ...values: ValueArguments<Rule>): never {
  throw new BankFileError(violate(rule, ...values))
}
