import { useState } from 'react'
import type { BankFileResponse } from '../../../../../src/http/dashboard/bank/bank-api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'

interface BankFile {
  readonly name: string
  /** A copy, so that the file that is recorded is the one that was previewed. */
  readonly content: Blob
}

interface Sending {
  readonly file: BankFile
  readonly mode: 'preview' | 'apply'
  /** The account of a file that does not state it. */
  readonly account?: string | undefined
}

interface SentFile extends Sending {
  readonly response: BankFileResponse
}

/** Sends a file of the bank: first for a preview, then to record it. */
export function useBankFile(onRecorded: (response: BankFileResponse) => void) {
  const [sending, setSending] = useState<Sending>()
  const [sent, setSent] = useState<SentFile>()
  const action = useAction<Sending, BankFileResponse>({
    run: ({ file, mode, account }) => {
      const query = new URLSearchParams({ mode, ...(account !== undefined && { account }) })
      return api.send<BankFileResponse>('POST', `/bank/files?${query}`, file.content)
    },
    refresh: [['bank-payments'], ['bank-accounts'], ['bank-days'], ['bank-recorded']],
    onSuccess: (response, request) => {
      setSent({ ...request, response })
      if (request.mode === 'apply') onRecorded(response)
    },
  })
  const send = (request: Sending) => {
    setSending(request)
    action.start(request)
  }
  return {
    /** The latest request. */
    sending,
    sent,
    pending: action.pending,
    error: action.error,
    preview: (file: BankFile, account?: string) => {
      setSent(undefined)
      send({ file, mode: 'preview', account })
    },
    apply: () => sent && send({ file: sent.file, mode: 'apply', account: sent.account }),
    close: () => {
      action.reset()
      setSending(undefined)
      setSent(undefined)
    },
  }
}
export type BankFileState = ReturnType<typeof useBankFile>
