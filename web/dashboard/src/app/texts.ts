import { useCallback } from 'react'
import { type MessageFormatElement, useIntl } from 'react-intl'
import type { MatchReason } from '../../../../src/domain/bank/match-reasons'
import type account from '../../texts/account.en.json'
import type audit from '../../texts/audit.en.json'
import type bank from '../../texts/bank.en.json'
import type callbacks from '../../texts/callbacks.en.json'
import type common from '../../texts/common.en.json'
import type errors from '../../texts/errors.en.json'
import type events from '../../texts/events.en.json'
import type fields from '../../texts/fields.en.json'
import type merchants from '../../texts/merchants.en.json'
import type operations from '../../texts/operations.en.json'
import type overview from '../../texts/overview.en.json'
import type payouts from '../../texts/payouts.en.json'
import type privacy from '../../texts/privacy.en.json'
import type shell from '../../texts/shell.en.json'
import type statement from '../../texts/statement.en.json'
import type transfer from '../../texts/transfer.en.json'
import type transfers from '../../texts/transfers.en.json'
import type users from '../../texts/users.en.json'
import type { Reason } from '../api/api-error'
import { unpack } from './packed-texts'
import { type Language, textFiles } from './text-files'

interface Areas {
  readonly account: typeof account
  readonly audit: typeof audit
  readonly bank: typeof bank
  readonly callbacks: typeof callbacks
  readonly common: typeof common
  readonly errors: typeof errors
  readonly events: typeof events
  readonly fields: typeof fields
  readonly merchants: typeof merchants
  readonly operations: typeof operations
  readonly overview: typeof overview
  readonly payouts: typeof payouts
  readonly users: typeof users
  readonly privacy: typeof privacy
  readonly shell: typeof shell
  readonly statement: typeof statement
  readonly transfer: typeof transfer
  readonly transfers: typeof transfers
}

/** A text, as the name of its file and its key, such as `common.close`. The English texts of rules are the server's. */
export type TextId =
  | { [Area in keyof Areas]: `${Area}.${keyof Areas[Area] & string}` }[keyof Areas]
  | `bank.reason.${MatchReason}`
  | `errors.rule.${NonNullable<Reason['rule']>}`
type TextValues = Readonly<Record<string, string | number | bigint | Date | null | undefined>>
export type Messages = Record<string, MessageFormatElement[]>

export async function loadTexts(language: Language, part: 'first' | 'others'): Promise<Messages> {
  const { default: texts } = await textFiles[language][part]()
  return Object.fromEntries(Object.entries(texts).map(([id, parts]) => [id, parts.map(unpack)]))
}

export function useText(): (id: TextId, values?: TextValues) => string {
  const intl = useIntl()
  return useCallback((id, values) => intl.formatMessage({ id }, values), [intl])
}

/** Like useText, for ids built from names that the server sends. Returns `undefined` for an unknown id. */
export function useKnownText(): (id: string, values?: TextValues) => string | undefined {
  const intl = useIntl()
  return useCallback((id, values) => (id in intl.messages ? intl.formatMessage({ id }, values) : undefined), [intl])
}
