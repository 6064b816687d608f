import { CommanderError } from 'commander'
import { toJsonNumber } from '../domain/money.js'
import { refusalText } from '../domain/refusal-texts.js'
import { kindOf } from '../domain/rule-values.js'
import type { RuleName, Violation } from '../domain/rules.js'
import type { ExceededLimit } from '../domain/withdrawal-limits.js'
import { exceededJson } from '../domain/withdrawal-limits.js'
import { messageWithRemedy } from '../operations/files/directory-access.js'

/** The codes of the failures that violate none of the rules in src/domain/rule-texts.ts. docs/reference/cli.md explains each. */
export type FailureCode = (typeof failureCodes)[number]
export const failureCodes = [
  ...([
    'wrong-usage',
    'yes-required',
    'not-confirmed',
    'invalid-configuration',
    'failed',
    'bug',
    'interrupted',
  ] as const),
  ...(['ambiguous-id', 'not-yet-existing'] as const),
  ...(['no-access', 'service-unreachable', 'service-busy', 'request-rejected'] as const),
  ...(['live-merchant', 'scenario-unfinished', 'unknown-customer', 'unknown-projection'] as const),
  ...(['no-sandbox', 'sandbox-credentials', 'transfers-exist', 'wallet-core', 'endpoint-disabled'] as const),
  ...(['no-log', 'master-key', 'log-unusable', 'store-unavailable', 'lists-unavailable', 'lists-behind'] as const),
  ...(['directory-unusable', 'file-exists', 'file-unwritable', 'customer-keys-missing', 'key-rejected'] as const),
  ...(['check-failed', 'proof-invalid', 'no-tree', 'not-sealed', 'export-failed', 'backup-failed'] as const),
  ...([
    'restore-not-recorded',
    'copy-rejected',
    'logs-differ',
    'source-grown',
    'service-failed',
    'contention',
  ] as const),
  ...(['documents-differ', 'task-failed', 'task-cancelled', 'no-task'] as const),
] as const

/** The codes of errors by their names: to import the classes would load most of the program. */
const codesOfErrors: { readonly [name: string]: FailureCode } = {
  ConfigurationError: 'invalid-configuration',
  NoLogError: 'no-log',
  MasterKeyError: 'master-key',
  CannotOpenLogError: 'log-unusable',
  BrokenLogError: 'log-unusable',
  StoreUnavailableError: 'store-unavailable',
  ReadModelsUnavailableError: 'lists-unavailable',
  DirectoryError: 'directory-unusable',
  CustomerKeysError: 'customer-keys-missing',
  KeyRefusedError: 'key-rejected',
  VerificationError: 'proof-invalid',
  NoTreeError: 'no-tree',
  NotSealedYet: 'not-sealed',
  ExportError: 'export-failed',
  BackupError: 'backup-failed',
  BackupFailedError: 'backup-failed',
  RestoreNotRecordedError: 'restore-not-recorded',
  CopyRefusedError: 'copy-rejected',
  LogsDifferError: 'logs-differ',
  ServiceError: 'service-failed',
  TooMuchContentionError: 'contention',
  UnknownProjectionError: 'unknown-projection',
}

/** The command is valid but rejected: exit status 1. */
export class Refused extends Error {
  override readonly name = 'Refused'

  constructor(
    readonly code: FailureCode | RuleName,
    message: string,
    /** The values that explain a violated rule. */
    readonly values?: Violation['values'],
  ) {
    super(message)
  }
}

/** Returns the refusal of a violated rule. `field` is the name under which the user knows the field. */
export function refusedBy(violation: Violation, field?: string): Refused {
  return new Refused(violation.rule, refusalText(violation, field), violation.values)
}

/** Another user has already done it, so nothing changed: exit status 3. The result is printed anyway. */
export class AlreadyDone extends Refused {
  constructor(
    { rule, values }: Violation,
    message: string,
    readonly result: object,
  ) {
    super(rule, message, values)
  }
}

/** The command was used incorrectly: exit status 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'

  constructor(
    message: string,
    readonly code: FailureCode | RuleName = 'wrong-usage',
  ) {
    super(message)
  }
}

/** A failure as the command line reports it. */
export interface Failure {
  readonly status: 1 | 2 | 3
  readonly code: FailureCode | RuleName
  readonly message: string
  readonly values?: Violation['values']
  /** The stack trace of a bug in transferd, which belongs in a report. */
  readonly stack?: string
}

export function failureOf(error: unknown): Failure {
  if (error instanceof CommanderError) return { status: 2, code: 'wrong-usage', message: messageOf(error) }
  if (!(error instanceof Error)) return { status: 1, code: 'failed', message: String(error) }
  const message = messageWithRemedy(error)
  if (error instanceof UsageError) return { status: 2, code: error.code, message }
  if (error instanceof Refused) {
    const { code, values } = error
    return { status: error instanceof AlreadyDone ? 3 : 1, code, message, ...(values && { values }) }
  }
  // To import the class would load the readers of bank files.
  if (error.name === 'BankFileError') return failureOf(refusedBy((error as Error & { violation: Violation }).violation))
  const code = codesOfErrors[error.name]
  if (code !== undefined) return { status: code === 'invalid-configuration' ? 2 : 1, code, message }
  if ([TypeError, RangeError, ReferenceError].some((bug) => error instanceof bug))
    return { status: 1, code: 'bug', message, stack: String(error.stack) }
  return { status: 1, code: 'failed', message }
}

/** Returns the document that `--json` prints on stderr. */
export function failureDocument({ status: _, values, ...failure }: Failure, notices: readonly string[]): object {
  return {
    error: {
      ...failure,
      ...(values && Object.keys(values).length > 0 && { values: inJson(values) }),
      ...(notices.length > 0 && { notices }),
    },
  }
}

function inJson(values: Violation['values']): object {
  const shown = Object.entries(values).map(([name, value]) => {
    if (kindOf(name) === 'limits') return [name, exceededJson(value as readonly ExceededLimit[])]
    return [name, typeof value === 'bigint' ? toJsonNumber(value) : value]
  })
  return Object.fromEntries(shown)
}

/** Returns the message of a parser's error. A command that lacks its subcommand prints its help instead of a message. */
function messageOf({ code, message }: CommanderError): string {
  return code === 'commander.help' ? 'missing command (--help lists the commands)' : message.replace(/^error: /, '')
}
