import type { QueryKey } from '@tanstack/react-query'
import { useState } from 'react'
import type {
  AuditIntegrityResponse,
  ResumePayoutsBody,
  ResumePayoutsResponse,
} from '../../../../../src/http/dashboard/audit/audit-api'
import { api } from '../../api/api-client'
import { useText } from '../../app/texts'
import { ReasonDialog } from '../../components/ReasonDialog'
import { notify } from '../../components/Toasts'

interface ResumeDialogProps {
  readonly stopped: NonNullable<AuditIntegrityResponse['payoutsStopped']>
  readonly refresh: readonly QueryKey[]
  readonly onClose: () => void
}

export function ResumePayoutsDialog({ stopped, refresh, onClose }: ResumeDialogProps) {
  const text = useText()
  // The state when the dialog opened, because the page fetches newer findings while the dialog is open.
  const [{ findings, stop, restored, revision }] = useState(stopped)
  return (
    <ReasonDialog
      title={text(findings.length > 0 ? 'audit.resumeTitle' : 'audit.resumeTitleStopped')}
      submit={text('audit.resume')}
      reasonHelp={text('common.reasonHelp')}
      run={(reason) => {
        const body: ResumePayoutsBody = { reason, revision }
        return api.send<ResumePayoutsResponse>('POST', '/audit/resume-payouts', body)
      }}
      refresh={refresh}
      onSuccess={() => {
        notify(text('audit.resumed'))
        onClose()
      }}
      onClose={onClose}
    >
      {restored && <p>{text('audit.resumeHelpRestored')}</p>}
      {stop && <p>{text('audit.resumeHelpStopped')}</p>}
      {findings.length > 0 && <p>{text('audit.resumeHelp')}</p>}
    </ReasonDialog>
  )
}
