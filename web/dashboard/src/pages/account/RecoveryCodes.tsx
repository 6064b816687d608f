import { useState } from 'react'
import type { RecoveryCodes } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { sessionQuery, useSession } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Confirm } from '../../components/Confirm'
import { SecretsDialog } from '../../components/SecretsDialog'

export function RecoveryCodesLeft() {
  const text = useText()
  const { recoveryCodesLeft: count } = useSession().user
  return <p className={count === 0 ? 'notice' : ''}>{text('account.recoveryCodesLeft', { count })}</p>
}

/** Creates recovery codes and shows them once. */
export function RecoveryCodesDialog({ onClose }: { readonly onClose: () => void }) {
  const text = useText()
  const [codes, setCodes] = useState<RecoveryCodes['codes']>()
  const action = useAction<void, RecoveryCodes>({
    run: () => api.send<RecoveryCodes>('POST', '/session/recovery-codes'),
    refresh: [sessionQuery.queryKey],
    onSuccess: (issued) => setCodes(issued.codes),
  })
  if (codes) {
    return (
      <SecretsDialog
        title={text('account.recoveryCodes')}
        help={text('account.recoveryCodesHelp')}
        secrets={[{ label: text('account.recoveryCodes'), value: codes.join('\n') }]}
        confirm={text('account.recoveryCodesSaved')}
        onClose={onClose}
      />
    )
  }
  return (
    <Confirm
      title={text('account.newRecoveryCodesTitle')}
      open
      onClose={onClose}
      onConfirm={() => action.start()}
      confirm={text('account.newRecoveryCodes')}
      pending={action.pending}
      error={action.error}
    >
      <p>{text('account.newRecoveryCodesHelp')}</p>
    </Confirm>
  )
}
