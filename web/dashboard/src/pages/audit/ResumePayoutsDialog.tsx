import type { QueryKey } from '@tanstack/react-query'
import { api } from '../../api/api-client'
import type { ResumePayouts, ResumePayoutsBody } from '../../api/contract'
import { useText } from '../../app/texts'
import { ReasonDialog } from '../../components/ReasonDialog'
import { notify } from '../../components/Toasts'

interface ResumeDialogProps {
  readonly refresh: readonly QueryKey[]
  readonly onClose: () => void
}

export function ResumePayoutsDialog({ refresh, onClose }: ResumeDialogProps) {
  const text = useText()
  return (
    <ReasonDialog
      title={text('audit.resumeTitle')}
      submit={text('audit.resume')}
      reasonHelp={text('common.reasonHelp')}
      run={(reason) => {
        const body: ResumePayoutsBody = { reason }
        return api.send<ResumePayouts>('POST', '/audit/resume-payouts', body)
      }}
      refresh={refresh}
      onSuccess={() => {
        notify(text('audit.resumed'))
        onClose()
      }}
      onClose={onClose}
    >
      <p>{text('audit.resumeHelp')}</p>
    </ReasonDialog>
  )
}
