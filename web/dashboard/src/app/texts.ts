import { useCallback } from 'react'
import { useIntl } from 'react-intl'
import type account from '../../texts/en/account.json'
import type audit from '../../texts/en/audit.json'
import type callbacks from '../../texts/en/callbacks.json'
import type common from '../../texts/en/common.json'
import type errors from '../../texts/en/errors.json'
import type live from '../../texts/en/live.json'
import type merchants from '../../texts/en/merchants.json'
import type operations from '../../texts/en/operations.json'
import type overview from '../../texts/en/overview.json'
import type paying from '../../texts/en/paying.json'
import type people from '../../texts/en/people.json'
import type privacy from '../../texts/en/privacy.json'
import type shell from '../../texts/en/shell.json'
import type statement from '../../texts/en/statement.json'
import type transfer from '../../texts/en/transfer.json'
import type transfers from '../../texts/en/transfers.json'

interface Areas {
  readonly account: typeof account
  readonly audit: typeof audit
  readonly callbacks: typeof callbacks
  readonly common: typeof common
  readonly errors: typeof errors
  readonly live: typeof live
  readonly merchants: typeof merchants
  readonly operations: typeof operations
  readonly overview: typeof overview
  readonly paying: typeof paying
  readonly people: typeof people
  readonly privacy: typeof privacy
  readonly shell: typeof shell
  readonly statement: typeof statement
  readonly transfer: typeof transfer
  readonly transfers: typeof transfers
}

/** A file's name and a key in it. */
export type TextId = { [Area in keyof Areas]: `${Area}.${keyof Areas[Area] & string}` }[keyof Areas]
export type TextValues = Readonly<Record<string, string | number | bigint | Date | null | undefined>>
export type Messages = Record<string, string>

/** All of a language in one request. */
export async function loadTexts(language: 'en' | 'tr'): Promise<Messages> {
  const { files } = language === 'en' ? await import('./texts-en') : await import('./texts-tr')
  const messages: Messages = {}
  for (const [path, texts] of Object.entries(files)) {
    const [, area] = /(\w+)\.json$/.exec(path) ?? []
    for (const [key, message] of Object.entries(texts)) messages[`${area}.${key}`] = message
  }
  return messages
}

export function useText(): (id: TextId, values?: TextValues) => string {
  const intl = useIntl()
  return useCallback((id, values) => intl.formatMessage({ id }, values), [intl])
}

/** For names that come from the server, of which a newer one may have more than the texts know. */
export function useKnownText(): (id: string, values?: TextValues) => string | undefined {
  const intl = useIntl()
  return useCallback((id, values) => (id in intl.messages ? intl.formatMessage({ id }, values) : undefined), [intl])
}
