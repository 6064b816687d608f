import { Dialog } from '../../components/Dialog'
import { ActionForm, type ActionFormProps, useActionTitle } from './ActionForm'

/** Asks in a dialog, on pages without a panel for it. */
export function ActionDialog(props: ActionFormProps) {
  const title = useActionTitle()(props.action, props.detail)
  return (
    <Dialog title={title} open onClose={props.onClose}>
      <ActionForm {...props} />
    </Dialog>
  )
}
