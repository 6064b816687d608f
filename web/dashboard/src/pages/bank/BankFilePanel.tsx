import { type ReactNode, useEffect, useRef } from 'react'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Form } from '../../components/Form'
import { fieldText } from '../../components/form-data'
import { Problem } from '../../components/Problem'
import { TextField } from '../../components/TextField'
import { BankFileContent } from './BankFileContent'
import { BankFileOutcome } from './BankFileOutcome'
import type { BankFileState } from './use-bank-file'
import './BankFilePanel.css'

interface BankFilePanelProps {
  readonly state: BankFileState
  readonly onClose: () => void
}

/** Shows what a file means before anything is recorded, and what happened afterwards. */
export function BankFilePanel({ state, onClose }: BankFilePanelProps) {
  const text = useText()
  const { sending, sent, pending, error } = state
  if (!sending) return null
  const { name } = sending.file
  const needsAccount = error?.fields.account?.rule === 'bank-account-needed'
  const isDone = sent?.mode === 'apply'
  return (
    <section className="BankFile" aria-label={name}>
      <output className="BankFile-progress">
        {pending && text(sending.mode === 'preview' ? 'bank.reading' : 'bank.recording', { name })}
      </output>
      {error && !pending && !needsAccount && (
        <>
          <Problem error={error} />
          {!sent && (
            <div className="row">
              <Button autoFocus onPress={onClose}>
                {text('common.close')}
              </Button>
            </div>
          )}
        </>
      )}
      {error && !pending && needsAccount && (
        <Form
          onSubmit={(data) => state.preview(sending.file, fieldText(data, 'account'))}
          error={null}
          submit={text('bank.preview')}
          pending={pending}
          cancel={onClose}
        >
          <TextField
            name="account"
            label={text('bank.accountOfFile')}
            description={text('bank.accountOfFileHelp', { name })}
            required
            autoFocus
          />
        </Form>
      )}
      {sent && (
        <>
          <FocusedHeading key={sent.mode}>
            {isDone
              ? text('bank.doneTitle', { name, count: sent.response.counts.applied })
              : text('bank.previewTitle', { name })}
          </FocusedHeading>
          {isDone ? (
            <BankFileOutcome response={sent.response} onClose={onClose} />
          ) : (
            <BankFileContent response={sent.response} pending={pending} onConfirm={state.apply} onClose={onClose} />
          )}
        </>
      )}
    </section>
  )
}

/** The result takes the focus, so that the keyboard and screen readers continue there. */
function FocusedHeading({ children }: { readonly children: ReactNode }) {
  const ref = useRef<HTMLHeadingElement>(null)
  useEffect(() => ref.current?.focus(), [])
  return (
    <h2 ref={ref} tabIndex={-1}>
      {children}
    </h2>
  )
}
