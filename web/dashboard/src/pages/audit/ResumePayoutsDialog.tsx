import type { QueryKey } from '@tanstack/react-query'
import { api } from '../../api/api-client'
import type { ResumePayouts, ResumePayoutsBody } from '../../api/contract'
import { useText } from '../../app/texts'
import { ReasonDialog } from '../../components/ReasonDialog'
import { notify } from '../../components/Toasts'

interface ResumeDialogProps {
  /** The number of findings that the user sees. */
  readonly findings: number
  readonly refresh: readonly QueryKey[]
  readonly onClose: () => void
}

export function ResumePayoutsDialog({ findings, refresh, onClose }: ResumeDialogProps) {
  const text = useText()
  return (
    <ReasonDialog
      title={text(findings > 0 ? 'audit.resumeTitle' : 'audit.resumeTitleStopped')}
      submit={text('audit.resume')}
      reasonHelp={text('common.reasonHelp')}
      run={(reason) => {
        const body: ResumePayoutsBody = { reason, acceptedFindings: findings }
        return api.send<ResumePayouts>('POST', '/audit/resume-payouts', body)
      }}
      refresh={refresh}
      onSuccess={() => {
        notify(text('audit.resumed'))
        onClose()
      }}
      onClose={onClose}
    >
      <p>{text(findings > 0 ? 'audit.resumeHelp' : 'audit.resumeHelpStopped')}</p>
    </ReasonDialog>
  )
}
