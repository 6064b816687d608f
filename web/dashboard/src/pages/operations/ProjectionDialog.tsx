import type {
  PauseRequest,
  ProjectionAction,
  ProjectionItem,
  RebuildRequest,
} from '../../../../../src/http/dashboard/operations/operations-api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Checkbox } from '../../components/Checkbox'
import { Dialog } from '../../components/Dialog'
import { Form } from '../../components/Form'
import { fieldText } from '../../components/form-data'
import { TextField } from '../../components/TextField'
import { notify } from '../../components/Toasts'

interface ProjectionDialogProps {
  readonly action: ProjectionAction
  /** `undefined` for all projections. */
  readonly projection: ProjectionItem | undefined
  readonly onClose: () => void
}

export function ProjectionDialog({ action: name, projection, onClose }: ProjectionDialogProps) {
  const text = useText()
  const which = projection?.name ?? text('operations.allProjections')
  const action = useAction({
    run: (data: FormData) => {
      const path = projection ? `/operations/projections/${projection.name}/${name}` : `/operations/projections/${name}`
      return api.send<unknown>('POST', path, bodyOf(name, data))
    },
    refresh: [['projections'], ['problems']],
    onSuccess: () => {
      notify(text(`operations.requested.${name}`, { projection: which }))
      onClose()
    },
  })
  return (
    <Dialog title={text(`operations.actionTitle.${name}`, { projection: which })} open onClose={onClose}>
      <Form
        onSubmit={action.start}
        error={action.error}
        submit={text(`operations.action.${name}`)}
        pending={action.pending}
        cancel={onClose}
      >
        <p>{text(`operations.explain.${name}`)}</p>
        {name === 'rebuild' && <Checkbox name="keep" value="keep" label={text('operations.keep')} />}
        {name === 'pause' && (
          <TextField
            name="reason"
            label={text('fields.reason')}
            description={text('operations.pauseReasonHelp')}
            maxLength={500}
          />
        )}
      </Form>
    </Dialog>
  )
}

function bodyOf(action: ProjectionAction, data: FormData): RebuildRequest & PauseRequest {
  const reason = fieldText(data, 'reason')
  if (action === 'rebuild') return { keep: data.get('keep') !== null }
  return action === 'pause' && reason !== '' ? { reason } : {}
}
